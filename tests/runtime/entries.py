"""Libraries of entry points that tests write in C++, and arguments of their plans."""

import shutil
import subprocess
from pathlib import Path

import pytest

from fieldforge.runtime.calls.plan import Argument

from ..dimensions import I


def compiled(source: str, folder: Path, *flags: str) -> Path:
    """Compile C++ to a shared library by GCC; skip the test where there is none."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    file, library = folder / "entries.cpp", folder / "entries.so"
    file.write_text(source)
    command = [compiler, "-O1", "-shared", "-fPIC", *flags, str(file), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def field(name, index, dims=(I,), dtype="float64", **facts):
    """Return a field of a plan; `index` is its parameter, or the path to it."""
    path = index if isinstance(index, tuple) else (index,)
    return Argument(name, path, "field", dtype, dims, **facts)


def scalar(name, index, dtype):
    """Return a number of a plan."""
    return Argument(name, (index,), "scalar", dtype)
