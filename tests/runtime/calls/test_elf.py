"""A library that lacks a part is noticed before it is mapped."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fieldforge.runtime.calls.elf import fault_in

SOURCE = """
#include <vector>
extern "C" int entry(int n) { std::vector<double> v(n); return int(v.size()); }
"""
pytestmark = [
    pytest.mark.needs_compiler,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs ELF files"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("elf")
    Path(folder, "p.cpp").write_text(SOURCE)
    compiler = shutil.which("c++") or "g++"
    words = [compiler, "-O1", "-g", "-shared", "-fPIC", "-fopenmp", "-o", "p.so", "p.cpp"]
    subprocess.run(words, cwd=folder, check=True)
    return Path(folder, "p.so").read_bytes()


def test_a_whole_library_has_no_fault(library: bytes) -> None:
    assert fault_in(library, "entry") is None
    assert fault_in(library) is None


def test_a_missing_function_is_named(library: bytes) -> None:
    assert fault_in(library, "nowhere") == "It has no function 'nowhere'."
    assert fault_in(library, "malloc") == "It has no function 'malloc'."


def test_every_cut_is_noticed(library: bytes) -> None:
    step = max(1, len(library) // 500)
    sizes = {*range(0, len(library), step), *range(0, 128), len(library) - 1}
    assert [size for size in sizes if fault_in(library[:size], "entry") is None] == []


def test_section_headers_that_were_never_written_are_noticed(library: bytes) -> None:
    start = int.from_bytes(library[40:48], sys.byteorder)
    without = library[:start] + bytes(len(library) - start)
    assert fault_in(without, "entry") == "Its section headers are empty."
    assert fault_in(library[:start], "entry") is not None
    unnamed = library[:40] + bytes(8) + library[48:]
    assert fault_in(unnamed, "entry") == "It has no section headers."


def test_a_hole_in_place_of_the_code_is_noticed(library: bytes) -> None:
    holes = [
        library[:start] + bytes(min(4096, len(library) - start)) + library[start + 4096 :]
        for start in range(0, len(library), 4096)
    ]
    found = [fault_in(hole, "entry") for hole in holes]
    assert "Its function 'entry' has no code." in found
    assert "Its dynamic section is empty." in found


def test_no_damage_of_the_headers_makes_the_check_fail_itself(library: bytes) -> None:
    for place in [*range(64), *range(64, 64 + 56 * 4, 3)]:
        for bit in range(8):
            damaged = bytearray(library)
            damaged[place] ^= 1 << bit
            fault_in(bytes(damaged), "entry")
