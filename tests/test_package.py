"""The wheel holds `fieldforge`, each file once, and the C++ of exports; the sdist no doubles.

What a wheel holds does not depend on what its extension does, and the installation under test has
compiled all of that. So the extension of this wheel is an empty module; `make test-all` compiles
the whole.
"""

import hashlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from fieldforge.workflows.export.support.source import FILES

from .selection import runs_all

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
    is_whole = runs_all(request.config)
    command = [
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        f"--config-settings=build-dir={folder / 'build'}", "--wheel-dir", str(folder), str(ROOT),
        "--config-settings=cmake.build-type=Debug",  # what it holds is the same, made sooner
        *([] if is_whole else instead),
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=folder)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.needs_compiler
def test_the_wheel_holds_nothing_but_fieldforge(wheel):
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert {top.partition("-")[0] for top in tops} == {"fieldforge"}
    assert all(top == "fieldforge" or top.endswith(".dist-info") for top in tops)


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
    native = {name.rpartition("/")[2] for name in names if name.endswith((".cpp", ".h"))}
    assert native == set(FILES)


def test_every_file_of_the_core_is_compiled_into_it():
    folder = ROOT / "runtime" / "native"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*.cpp")}

    named = re.findall(r"\$\{native\}/([\w/]+\.cpp)", (ROOT / "CMakeLists.txt").read_text())
    assert files == set(named)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> tarfile.TarFile:
    folder = tmp_path_factory.mktemp("sdist")
    code = f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True)
    [path] = folder.glob("*.tar.gz")
    return tarfile.open(path)


def test_the_sdist_has_each_source_once_and_no_links(sdist):
    members = sdist.getmembers()
    packed = [member.name.partition("/")[2] for member in members]
    assert len(packed) == len(set(packed))
    assert [member.name for member in members if member.issym() or member.islnk()] == []
    rooms = {"cache", "examples", "runtime", "stages", "workflows"}
    assert rooms & {name.partition("/")[0] for name in packed} == set()
    digests = {}
    for member in members:
        if member.isfile() and member.size and member.name.endswith((".py", ".cpp", ".h")):
            content = sdist.extractfile(member).read()
            if len(content) > 200:  # several folders have the same few lines at their head
                digests.setdefault(hashlib.sha256(content).hexdigest(), []).append(member.name)
    assert [names for names in digests.values() if len(names) > 1] == []
    for needed in ("CMakeLists.txt", "src/fieldforge/runtime/native/program.cpp", "LICENSE"):
        assert needed in packed


def test_everything_is_an_extra_that_no_driver_or_launcher_is_needed_for():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    [everything] = extras["all"]
    parts = set(everything.partition("[")[2].rstrip("]").split(","))
    developing = {"all", "bench", "dev", "docs", "test"}
    assert parts == set(extras) - developing - {"ghex", "gpu", "gpu-cu12", "gpu-cu13", "mpi"}
    assert extras["gpu"] == ["fieldforge[gpu-cu12]"]
    for major in ("12", "13"):
        assert f"cupy-cuda{major}x" in extras[f"gpu-cu{major}"][0]
