"""Libraries from bytes to a loaded entry point."""

import fcntl
import gc
import hashlib
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime._core import FieldView, Program
from fieldforge.runtime.calls import loader
from fieldforge.runtime.calls.loader import load_library
from fieldforge.runtime.calls.plan import Argument, Plan
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.process.errors import LibraryError

from ..entries import compiled

SOURCE = """
#include <stdint.h>
#ifdef __cplusplus
extern "C"
#endif
int32_t %s(const void* const* ptrs, const int64_t*, const void*, void*, void*) {
    *(double*)ptrs[0] = %s;
    return 0;
}
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """Compile an entry point that writes `value` to its argument, and return the bytes."""
    folder = tmp_path_factory.mktemp("build")

    def build(value, name="fieldforge_entry_v1"):
        return compiled(SOURCE % (name, value), folder).read_bytes()

    return build


def call(library):
    argument = Argument("a", (0,), "field", "float64", (), written=True)
    plan = Plan("p", ("a",), (argument,), (), ())
    program = Program("p", ("a",), lambda args, kwargs: None, reject)
    program.add(library.entry(plan))
    array = np.zeros(())
    program(FieldView(array, (), ()))
    return float(array)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.needs_compiler
def test_the_file_is_named_by_its_content_and_private(build, tmp_path):
    data = build(1.5)
    folder = tmp_path / "some" / "libraries"

    library = load_library(data, folder)

    path = folder / f"{hashlib.sha256(data).hexdigest()}.so"
    assert [each.name for each in folder.iterdir()] == [path.name]
    assert (mode(folder), mode(path)) == (0o700, 0o500)
    assert call(library) == 1.5


@pytest.mark.needs_compiler
def test_equal_bytes_are_written_once(build, tmp_path):
    data = build(2.5)
    first = load_library(data, tmp_path / "l")
    (path,) = (tmp_path / "l").iterdir()
    before = path.stat().st_ino

    second = load_library(data, tmp_path / "l")

    assert path.stat().st_ino == before
    assert first.address == second.address


@pytest.mark.needs_compiler
def test_a_damaged_file_is_replaced_before_it_is_loaded(build, tmp_path):
    data = build(3.5)
    folder = tmp_path / "l"
    folder.mkdir()
    path = folder / f"{hashlib.sha256(data).hexdigest()}.so"
    path.write_bytes(data[:-100] + bytes(100))

    library = load_library(data, folder)

    assert path.read_bytes() == data
    assert call(library) == 3.5


@pytest.mark.needs_compiler
def test_a_folder_that_others_may_write_is_closed(build, tmp_path):
    folder = tmp_path / "l"
    folder.mkdir()
    folder.chmod(0o777)

    load_library(build(4.5), folder)

    assert mode(folder) == 0o700


@pytest.mark.needs_compiler
def test_a_folder_of_another_user_is_refused(build, tmp_path, monkeypatch):
    monkeypatch.setattr(loader.os, "geteuid", lambda: os.getuid() + 1)

    with pytest.raises(LibraryError, match="belongs to another user"):
        load_library(build(1.0), tmp_path)


@pytest.mark.needs_compiler
def test_a_library_without_the_entry_point_is_refused(build, tmp_path):
    data = build(1.0, name="fieldforge_entry_v0")

    with pytest.raises(
        LibraryError, match="cannot be loaded: It has no function 'fieldforge_entry_v1'"
    ):
        load_library(data, tmp_path)


def test_bytes_that_are_no_library_are_refused(tmp_path):
    with pytest.raises(LibraryError, match=r"cannot be loaded: It is no ELF file\."):
        load_library(b"not a library", tmp_path)


@pytest.mark.needs_compiler
def test_a_folder_that_cannot_be_made_is_an_error_with_a_hint(build, tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(LibraryError, match="FIELDFORGE_LOCAL_DIR"):
        load_library(build(1.0), tmp_path / "file" / "folder")


@pytest.mark.needs_compiler
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_a_library_stays_loaded_while_an_entry_refers_to_it(build, tmp_path):
    data = build(5.5)
    name = f"{hashlib.sha256(data).hexdigest()}.so"
    library = load_library(data, tmp_path)
    entry = library.entry(Plan("p", (), (), (), ()))

    del library
    gc.collect()
    loaded_with_entry = name in Path("/proc/self/maps").read_text()
    del entry
    gc.collect()
    loaded_without = name in Path("/proc/self/maps").read_text()

    assert (loaded_with_entry, loaded_without) == (True, False)


@pytest.mark.needs_compiler
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_libraries_of_another_folder_put_in_its_place_are_not_loaded(build, tmp_path):
    """Another user renames the folder above and puts equal names with other content there."""
    folder, data = tmp_path / "node" / "libraries", build(1.25)
    load_library(build(2.25), folder)
    (tmp_path / "node").rename(tmp_path / "moved")
    folder.mkdir(parents=True)
    name = f"{hashlib.sha256(data).hexdigest()}.so"
    (folder / name).write_bytes(build(9.75))

    library = load_library(data, folder)

    assert call(library) == 1.25
    assert (tmp_path / "moved" / "libraries" / name).exists()


@pytest.mark.needs_compiler
def test_a_file_that_others_may_write_is_replaced(build, tmp_path):
    data = build(2.75)
    folder = tmp_path / "l"
    folder.mkdir(mode=0o700)
    path = folder / f"{hashlib.sha256(data).hexdigest()}.so"
    path.write_bytes(data)
    path.chmod(0o777)

    load_library(data, folder)

    assert mode(path) == 0o500


@pytest.mark.needs_compiler
def test_a_local_folder_that_others_may_write_to_is_refused(build, tmp_path):
    (tmp_path / "node").mkdir()
    (tmp_path / "node").chmod(0o777)

    with pytest.raises(LibraryError, match=r"can be written to by others \(mode 0777\)"):
        load_library(build(3.75), tmp_path / "node" / "libraries")


@pytest.mark.needs_compiler
def test_a_sticky_folder_around_is_accepted(build, tmp_path):
    (tmp_path / "node").mkdir()
    (tmp_path / "node").chmod(0o1777)

    assert call(load_library(build(4.75), tmp_path / "node" / "libraries")) == 4.75


@pytest.mark.needs_compiler
@pytest.mark.parametrize("size", [64, 1000, -4096, -1])
def test_a_library_that_was_cut_short_is_refused_before_it_is_mapped(build, tmp_path, size):
    with pytest.raises(LibraryError, match="cannot be loaded: Its"):
        load_library(build(5.75)[:size], tmp_path)


# From memory, where no file can be written or run.


@pytest.mark.needs_compiler
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs sealed memory")
@pytest.mark.parametrize("obstacle", ["file in the way", "another user", "disk full"])
def test_without_a_file_a_library_is_loaded_from_memory(build, tmp_path, monkeypatch, obstacle):
    data = build(6.5)
    folder = tmp_path / "l"
    if obstacle == "file in the way":
        folder.write_bytes(b"")
    elif obstacle == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:
        real, calls = os.write, []

        def write(handle, content):
            calls.append(handle)
            if len(calls) == 1:
                raise OSError(28, "No space left on device")
            return real(handle, content)

        monkeypatch.setattr(os, "write", write)
    assert call(load_library(data, folder, or_memory=True)) == 6.5
    assert call(load_library(build(7.5), tmp_path / "other", or_memory=True)) == 7.5


@pytest.mark.needs_compiler
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs sealed memory")
def test_nobody_can_change_a_library_in_memory_and_it_is_kept_once(build, tmp_path):
    (tmp_path / "l").write_bytes(b"")
    data = build(8.5)
    for _ in range(3):
        assert call(load_library(data, tmp_path / "l", or_memory=True)) == 8.5
    handle = loader._sealed[hashlib.sha256(data).hexdigest()]
    for change in (lambda: os.write(handle, b"x"), lambda: os.ftruncate(handle, 0)):
        with pytest.raises(PermissionError):
            change()


@pytest.mark.needs_compiler
def test_drafts_of_processes_that_were_killed_go(build, tmp_path):
    folder = tmp_path / "l"
    folder.mkdir(mode=0o700)
    (folder / ".draft-1-00").write_bytes(b"half")
    held = os.open(folder / ".draft-2-00", os.O_CREAT | os.O_WRONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    load_library(build(9.5), folder)
    os.close(held)
    drafts = [name for name in os.listdir(folder) if name.startswith(".draft")]
    assert drafts == [".draft-2-00"]
