import ctypes
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from fieldforge.runtime.calls.plan import ENTRY
from fieldforge.runtime.process.errors import CompilationError, CompilerNotFoundError
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Compiled, Generated
from fieldforge.stages.compile.stage import Compile

FLAGS = ("-O1", "-shared", "-fPIC")
ANSWER = Generated("c++", 'extern "C" int answer() { return 42; }\n', "", FLAGS)


def stage(directory: Path | None = None, cxx: str | None = None) -> Compile:
    return Compile(cxx=cxx, variables=current().compiler_variables, directory=directory)


@pytest.mark.needs_compiler
def test_source_becomes_a_library(tmp_path: Path) -> None:
    compiled = stage().run(generated=ANSWER)["compiled"]
    path = tmp_path / "answer.so"
    path.write_bytes(compiled.library)
    assert ctypes.CDLL(str(path)).answer() == 42
    assert json.loads(compiled.manifest)["flags"] == list(FLAGS)
    assert Compiled.from_files(compiled.files()) == compiled


@pytest.mark.needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the usual libraries are linked")
@pytest.mark.parametrize(
    ("body", "flags", "is_linked"),
    [
        ("return 42;", (), False),
        ("return __builtin_sin(n) > 2.0;", ("-fopenmp-simd",), False),
        ("struct End { ~End() { rand(); } } end; return rand();", ("-O0",), False),
        ("try { throw n; } catch (int m) { return m; }", (), True),
        ("static int first = rand(); return first;", ("-fopenmp",), True),
    ],
)
def test_the_library_of_cpp_is_linked_where_it_is_needed(
    tmp_path: Path, body: str, flags: tuple[str, ...], is_linked: bool
) -> None:
    text = f'#include <stdlib.h>\nextern "C" int answer(int n) {{ {body} }}\n'
    generated = Generated("c++", text, "", (*FLAGS, *flags))

    library = stage().run(generated=generated)["compiled"].library

    assert (b"libstdc++" in library) == is_linked
    path = tmp_path / "answer.so"
    path.write_bytes(library)
    assert ctypes.CDLL(str(path)).answer(1) is not None


@pytest.mark.needs_compiler
def test_equal_sources_give_equal_libraries() -> None:
    # __FILE__ and assertions would betray the private directory
    source = 'extern "C" const char* place() { return __FILE__; }\n'
    generated = Generated("c++", source, "", FLAGS)
    first, second = (stage().run(generated=generated)["compiled"] for _ in range(2))
    assert first.library == second.library
    assert first.manifest == second.manifest


@pytest.mark.needs_compiler
def test_a_failure_shows_command_code_and_log_and_keeps_all_of_it(tmp_path: Path) -> None:
    wrong = Generated("c++", "int f() { return undefined_name; }\n" * 30, "", FLAGS)
    with pytest.raises(CompilationError, match="failed with exit code 1") as caught:
        stage(tmp_path).run(generated=wrong)
    error = caught.value
    assert error.exit_code == 1
    assert "-O1" in error.command
    assert "undefined_name" in str(error)
    assert error.log_path is not None
    kept = Path(error.log_path)
    assert kept.parent == tmp_path / "log"
    assert "exit code: 1" in kept.read_text()
    assert "int f() { return undefined_name; }" in kept.read_text()


def test_a_compiler_that_dies_is_reported_with_its_signal(tmp_path: Path) -> None:
    path = tmp_path / "c++"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] && echo test && exit 0\nkill -9 $$\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(CompilationError, match="was ended by signal SIGKILL") as caught:
        stage(cxx=str(path)).run(generated=ANSWER)
    assert "run out of memory" in str(caught.value)


def test_a_compiler_that_writes_nothing_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c++"
    path.write_text("#!/bin/sh\necho test\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(CompilationError, match="reported success but wrote no library"):
        stage(cxx=str(path)).run(generated=ANSWER)


def test_no_compiler_is_an_error_of_its_own(tmp_path: Path) -> None:
    missing = Compile(variables=(("PATH", str(tmp_path)),))
    with pytest.raises(CompilerNotFoundError):
        missing.run(generated=ANSWER)


def test_the_compiler_sees_only_the_variables_that_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "c++"
    path.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo test && exit 0\n/usr/bin/env\nexit 1\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    compiler = Compile(cxx=str(path), variables=(("CPATH", "/opt/include"),))
    with pytest.raises(CompilationError) as caught:
        compiler.run(generated=ANSWER)
    names = {line.partition("=")[0] for line in caught.value.log.splitlines()}
    assert "CPATH" in names
    assert "HOME" not in names


def test_the_key_has_the_identity_of_the_compiler_and_what_it_reads(tmp_path: Path) -> None:
    path = tmp_path / "c++"
    path.write_text("#!/bin/sh\necho test 1.0\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    variables = (("CPATH", "/opt/include"), ("PATH", "/bin"))
    labels = Compile(cxx=str(path), variables=variables).environment()
    assert labels["variable CPATH"] == "/opt/include"
    assert "variable PATH" not in labels
    assert labels["compiler"].startswith("test 1.0; c++ ")


BREAKING = """#!/bin/sh
[ "$1" = --version ] && echo test && exit 0
{compiler} "$@" || exit 1
{deed}
"""
DEEDS = {
    "cut": "size=$(wc -c < program.so); head -c $((size - 4096)) program.so > x; mv x program.so",
    "emptied": ": > program.so",
    "without section headers": "truncate -s -64 program.so",
}


@pytest.mark.needs_compiler
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs ELF files")
@pytest.mark.parametrize("deed", DEEDS)
def test_a_library_that_the_linker_left_incomplete_is_an_error(tmp_path: Path, deed: str) -> None:
    path = tmp_path / "c++"
    path.write_text(BREAKING.format(compiler=stage().compiler().path, deed=DEEDS[deed]))
    path.chmod(0o700)
    with pytest.raises(CompilationError, match="left an incomplete library: It") as caught:
        stage(cxx=str(path)).run(generated=ANSWER)
    assert "free space" in str(caught.value)


@pytest.mark.needs_compiler
def test_a_library_without_the_entry_that_its_source_names_is_an_error() -> None:
    wrong = Generated("c++", f"static int {ENTRY}() {{ return 1; }}\n", "", FLAGS)
    with pytest.raises(CompilationError, match=f"It has no function '{ENTRY}'"):
        stage().run(generated=wrong)


@pytest.mark.needs_compiler
def test_the_umask_of_a_compiler_does_not_matter() -> None:
    old = os.umask(0)
    try:
        assert stage().run(generated=ANSWER)["compiled"].library
    finally:
        os.umask(old)
