import stat
import subprocess
from pathlib import Path

import pytest

from fieldforge.cache.sealed import seal
from fieldforge.runtime.process.errors import CompilerNotFoundError
from fieldforge.stages.compile import compiler as module
from fieldforge.stages.compile.compiler import MEMORY, find_compiler


def fake(folder: Path, name: str = "g++", version: str = "g++ (Test) 1.2.3") -> Path:
    """Write a compiler that only says who it is."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" || echo cc1plus\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was run")

    monkeypatch.setattr(subprocess, "run", refuse)


def test_the_first_known_name_on_the_path_is_taken(tmp_path: Path) -> None:
    fake(tmp_path, "clang++", "clang 17")
    fake(tmp_path, "g++")
    assert find_compiler(None, str(tmp_path)).version == "g++ (Test) 1.2.3"


def test_a_compiler_asked_for_may_have_options(tmp_path: Path) -> None:
    path = fake(tmp_path, "my-c++")
    compiler = find_compiler(f"{path} -m64", str(tmp_path))
    assert compiler.command == (str(path), "-m64")
    assert "-m64" in compiler.identity


def test_no_compiler_is_an_error_that_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CompilerNotFoundError, match="none of 'c\\+\\+', 'g\\+\\+'") as caught:
        find_compiler(None, str(tmp_path))
    assert "apt install g++" in str(caught.value)
    with pytest.raises(CompilerNotFoundError, match="'icpx', the one that was asked for"):
        find_compiler("icpx", str(tmp_path))


def test_a_compiler_that_does_not_run_is_refused(tmp_path: Path) -> None:
    path = fake(tmp_path)
    path.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    with pytest.raises(CompilerNotFoundError, match="gave exit code 3"):
        find_compiler(str(path), None)


def test_a_remembered_compiler_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake(tmp_path / "bin")
    first = find_compiler(str(path), None, tmp_path)
    forbid(monkeypatch)
    assert find_compiler(str(path), None, tmp_path) == first


def test_a_replaced_compiler_has_another_identity(tmp_path: Path) -> None:
    path = fake(tmp_path / "bin")
    first = find_compiler(str(path), None, tmp_path)
    path.write_text(path.read_text() + "# patched\n")
    second = find_compiler(str(path), None, tmp_path)
    assert second.version == first.version
    assert second.identity != first.identity


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"%s": 3}', '{"%s": {"version": 1, "named": [], "files": []}}']
)
def test_a_damaged_memory_is_a_miss(tmp_path: Path, damage: str) -> None:
    path = fake(tmp_path / "bin")
    first = find_compiler(str(path), None, tmp_path)
    for spoilt in (damage.encode(), seal("fieldforge-compilers-1", damage)):
        (tmp_path / MEMORY).unlink()
        (tmp_path / MEMORY).write_bytes(spoilt.replace(b"%s", str(path).encode()))
        assert find_compiler(str(path), None, tmp_path) == first
        assert str(path).encode() in (tmp_path / MEMORY).read_bytes()


def test_the_place_of_a_compiler_is_no_part_of_its_identity(tmp_path: Path) -> None:
    here, there = fake(tmp_path / "here"), fake(tmp_path / "there")
    assert find_compiler(str(here), None).identity == find_compiler(str(there), None).identity


@pytest.mark.needs_compiler
def test_a_real_compiler_is_known_by_driver_and_worker(tmp_path: Path) -> None:
    compiler = module.find_compiler(None, None, tmp_path)
    assert compiler.version
    assert all(len(digest) == 64 for _, digest in compiler.digests)


def test_an_empty_search_path_and_files_that_do_not_run_hold_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "c++").write_text("no program")
    (tmp_path / "g++").mkdir()

    for path in ("", str(tmp_path)):
        with pytest.raises(CompilerNotFoundError, match="No C\\+\\+ compiler was found"):
            find_compiler(None, path)
