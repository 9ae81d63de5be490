"""Modules with valid bytecode beside them are found at once; all others as ever."""

import compileall
import importlib.util
import inspect
import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from fieldforge.runtime.start.own_modules import find_own_modules

FOUND = """
import sys
import fieldforge as ff
ff.program
print(*{type(sys.modules[name].__loader__).__name__ for name in (
    "fieldforge.workflows.entries.program", "fieldforge.runtime.language",
)})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package with a module, a package in it, and bytecode of all."""
    for name in ("own_kept", "own_kept/inner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f'"""The package {name}."""\n')
    (tmp_path / "own_kept" / "leaf.py").write_text("def value():\n    return 'old'\n")
    compileall.compile_dir(tmp_path, quiet=1, invalidation_mode=PycInvalidationMode.TIMESTAMP)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield tmp_path / "own_kept"
    for name in [name for name in sys.modules if name.startswith("own_kept")]:
        del sys.modules[name]


def spec_of(package: Path):
    spec = PathFinder.find_spec(package.name, [str(package.parent)])
    assert spec is not None
    return spec


def finder_of(package: Path):
    before = list(sys.meta_path)
    find_own_modules(spec_of(package))
    (finder,) = [each for each in sys.meta_path if each not in before]
    return finder


def test_a_module_has_its_spec_and_its_code(package):
    found = finder_of(package).find_spec("own_kept.leaf", [str(package)])
    usual = PathFinder.find_spec("own_kept.leaf", [str(package)])

    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)

    assert (found.origin, found.cached, found.has_location) == (
        usual.origin, usual.cached, usual.has_location,
    )  # fmt: skip
    assert (module.__file__, module.__package__) == (str(package / "leaf.py"), "own_kept")
    assert module.value() == "old"
    assert inspect.getsource(module.value) == "def value():\n    return 'old'\n"
    assert found.loader.get_code("own_kept.leaf").co_filename == str(package / "leaf.py")


def test_a_package_has_its_folder(package):
    found = finder_of(package).find_spec("own_kept.inner", [str(package)])

    assert found.submodule_search_locations == [str(package / "inner")]
    assert found.parent == "own_kept.inner"


def test_an_edited_source_is_left_to_python(package):
    finder, leaf = finder_of(package), package / "leaf.py"
    leaf.write_text("def value():\n    return 'new'\n")
    os.utime(leaf, (1e9, 1e9))

    assert finder.find_spec("own_kept.leaf", [str(package)]) is None
    assert importlib.import_module("own_kept.leaf").value() == "new"


def test_a_source_of_another_length_with_the_same_time_is_left_to_python(package):
    finder, leaf = finder_of(package), package / "leaf.py"
    seen = leaf.stat()
    leaf.write_text("def value():\n    return 'longer'\n")
    os.utime(leaf, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    assert finder.find_spec("own_kept.leaf", [str(package)]) is None


def test_what_has_no_bytecode_of_this_python_is_left_to_python(package):
    finder = finder_of(package)
    cached = Path(importlib.util.cache_from_source(str(package / "leaf.py")))

    cached.write_bytes(bytes(4) + cached.read_bytes()[4:])
    assert finder.find_spec("own_kept.leaf", [str(package)]) is None

    cached.unlink()
    assert finder.find_spec("own_kept.leaf", [str(package)]) is None
    assert finder.find_spec("own_kept.missing", [str(package)]) is None
    assert finder.find_spec("another.leaf", [str(package)]) is None


@pytest.mark.parametrize("mode", ["CHECKED_HASH", "UNCHECKED_HASH"])
def test_a_package_whose_bytecode_has_hashes_is_left_to_python(package, mode):
    compileall.compile_dir(
        package, quiet=1, force=True, invalidation_mode=PycInvalidationMode[mode]
    )
    before = list(sys.meta_path)

    find_own_modules(spec_of(package))

    assert sys.meta_path == before


def test_a_package_without_bytecode_is_left_to_python(package):
    Path(importlib.util.cache_from_source(str(package / "__init__.py"))).unlink()
    before = list(sys.meta_path)

    find_own_modules(spec_of(package))

    assert sys.meta_path == before


@pytest.mark.parametrize("option", [[], ["-O"]])
def test_modules_of_fieldforge_are_found_so_from_the_second_process_on(tmp_path, option):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, *option, "-c", FOUND]

    def loaders(**more: str) -> str:
        ran = subprocess.run(command, env=kept | more, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    loaders()
    assert loaders() == "_Loader"
    assert "_Loader" not in loaders(PYTHONPYCACHEPREFIX=str(tmp_path))
