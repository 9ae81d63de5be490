"""The wheel holds nothing but `fieldforge`, each file once, and no C++.

What a wheel holds does not depend on what its extension does, and the installation under test has
compiled all of that. So the extension of this wheel is an empty module; `make wheel` compiles
the whole.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EMPTY = 'extern "C" void* PyInit__core() { return nullptr; }\n'


@pytest.fixture(scope="module")
def wheel(request, tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "empty.cpp"
    source.write_text(EMPTY)
    instead = [
        f"--config-settings=cmake.define.CMAKE_PROJECT_INCLUDE={ROOT}/tests/wheel_of_one_source.cmake",
        f"--config-settings=cmake.define.ONE_SOURCE={source}",
    ]
    is_whole = "whole_core" in request.config.option.markexpr
    command = [
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        f"--config-settings=build-dir={folder / 'build'}", "--wheel-dir", str(folder), str(ROOT),
        "--config-settings=cmake.build-type=Debug",  # what it holds is the same, made sooner
        *([] if is_whole else instead),
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=folder)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.slow
@pytest.mark.whole_core
@pytest.mark.needs_compiler
def test_the_wheel_holds_nothing_but_fieldforge(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert {top.partition("-")[0] for top in tops} == {"fieldforge"}
    assert all(top == "fieldforge" or top.endswith(".dist-info") for top in tops)


@pytest.mark.slow
@pytest.mark.whole_core
@pytest.mark.needs_compiler
def test_the_wheel_has_each_source_once_and_the_extension(wheel):
    names = wheel.namelist()
    sources = sorted(
        path.relative_to(ROOT).as_posix()
        for folder in ("cache", "examples", "runtime", "stages", "workflows")
        for path in (ROOT / folder).rglob("*.py")
    )

    packed = [name.removeprefix("fieldforge/") for name in names if name.endswith(".py")]
    assert len(packed) == len(set(packed))
    assert set(sources) <= set(packed)
    assert [name for name in names if "/_core." in name and name.endswith(".so")]
    assert "fieldforge/py.typed" in names
    assert not [name for name in names if name.endswith((".cpp", ".h"))]


def test_every_file_of_the_core_is_compiled_into_it():
    folder = ROOT / "runtime" / "native"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.cpp")}

    named = re.findall(r"\$\{native\}/([\w/]+\.cpp)", (ROOT / "CMakeLists.txt").read_text())
    assert files == set(named)
