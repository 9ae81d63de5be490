"""One signature for every generator: the text that they write is what the native core calls."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.calls.plan import ABI_VERSION, ENTRY, Plan
from fieldforge.runtime.calls.program_errors import ProgramFailedError
from fieldforge.runtime.calls.refusals import reject
from fieldforge.stages.codegen.entry_point import CONTEXT, UNUSED, entry_head

NATIVE = Path(__file__).parents[3] / "runtime" / "native"
TYPES = "#include <cstdint>\ntypedef uint32_t u32; typedef int32_t s32; typedef int64_t s64;\n"
CHECK = """
#include <cstddef>
#include "context.h"
#define SAME(kind, member) static_assert( \\
    offsetof(kind, member) == offsetof(fieldforge::kind, member) && \\
    sizeof(kind::member) == sizeof(fieldforge::kind::member), #member)
static_assert(sizeof(Context) == sizeof(fieldforge::Context), "Context");
static_assert(sizeof(Machine) == sizeof(fieldforge::Machine), "Machine");
"""
MEMBERS = {
    "Machine": (
        "cores", "core_memory", "shared_cache", "bandwidth", "stream_from", "parallel_from",
    ),
    "Context": (
        "version", "size", "device_type", "device_id", "stream", "parallel_for", "pool", "machine",
        "status",
    ),
}  # fmt: skip


def compiled(source: str, folder: Path) -> Path:
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler is installed")
    path, library = folder / "entry.cpp", folder / "entry.so"
    path.write_text(source)
    command = [compiler, "-std=c++17", "-shared", "-fPIC", f"-I{NATIVE}", str(path)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


def test_the_name_carries_the_version_of_the_signature():
    assert f"fieldforge_entry_v{ABI_VERSION}" == ENTRY
    assert ENTRY in entry_head()[0]


def test_the_context_of_generators_is_that_of_the_native_core(tmp_path):
    same = [f"SAME({kind}, {member});" for kind, members in MEMBERS.items() for member in members]

    compiled("\n".join([TYPES, CONTEXT, CHECK, *same]), tmp_path)

    words = CONTEXT.replace("*", " ").replace("(", " ").replace(")", " ").replace(",", " ")
    for member in (*MEMBERS["Machine"], *MEMBERS["Context"]):
        assert member in words.replace(";", " ").split()


def test_an_entry_gets_a_context_of_the_host(tmp_path):
    facts = "c->version * 1000 + c->device_type * 100 + (c->size == sizeof(Context)) * 10"
    body = f"  return {facts} + (c->stream == nullptr && c->parallel_for != nullptr);\n}}\n"
    source = "\n".join([TYPES, CONTEXT, *entry_head(context="c"), UNUSED, body])
    library = _core.Library(str(compiled(source, tmp_path)))
    program = _core.Program("p", (), lambda *_: None, reject)
    program.add(_core.Entry(Plan("p", (), (), (), ()), library.symbol(ENTRY), library))

    with pytest.raises(ProgramFailedError, match="stopped with code 2111"):
        program()


def test_a_plan_for_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no device of kind 77"):
        _core.Entry(Plan("p", (), (), (), (), device=77), 1)
