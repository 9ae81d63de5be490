"""Libraries of entry points that tests write in C++."""

import shutil
import subprocess
from pathlib import Path

import pytest


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
