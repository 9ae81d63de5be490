"""Read a mesh file in a process of its own, with limits of memory and time.

The NetCDF library can crash on a damaged file, or take all memory. Here that ends a child process,
which answers with plain arrays in the format of NumPy, never with pickles.
"""

from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..process import FieldforgeError, InputDataError, MissingPackageError, environment_with
from . import files
from .mesh import Mesh

MEMORY: Final = 1 << 30  # bytes that a child may map beyond its libraries, for a file of no size
MEMORY_PER_BYTE: Final = 64  # compressed tables, their values, and what the checks derive of them
SECONDS: Final = 60  # for a file of no size
BYTES_PER_SECOND: Final = 1 << 20
_MAPPED: Final = Path("/proc/self/statm")
_ERROR: Final = "error"
_KINDS: Final = {each.__name__: each for each in (InputDataError, MissingPackageError)}
_DAMAGED: Final = "The file is damaged, or the NetCDF library is."
_WITHOUT: Final = "'read_mesh(path, isolated=False)' reads a file that you trust without limits."


def read_mesh(path: str | Path, *, isolated: bool = True) -> Mesh:
    """Read the tables of a NetCDF file with a UGRID topology, or of a grid file of ICON.

    The tables are checked by themselves and against each other.

    Args:
        path: the file.
        isolated: read in a child process, which may map 1 GiB and 64 times the size of the file,
            and may take a minute and a second for each MiB. False reads in this process, which
            a damaged file can end: for machines where it must not start another.

    Raises:
        InputDataError: if it is no such file, if a table holds what is no index, if the tables
            contradict each other, or if the child crashes or exceeds a limit; the error names
            the file, and the table, row and entry or what happened.
        MissingPackageError: if netCDF4 is not installed.

    """
    if not isolated:
        return files.read_mesh(path)
    try:
        size = Path(path).stat().st_size
    except OSError as error:
        raise InputDataError(f"'{path}' cannot be read as NetCDF: {error}.") from error
    memory, seconds = MEMORY + MEMORY_PER_BYTE * size, SECONDS + size // BYTES_PER_SECOND
    return _mesh(_answer(path, memory, seconds))


def _answer(path: str | Path, memory: int, seconds: int) -> bytes:
    """Return what a child writes about the file."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__, os.fspath(path), str(memory)],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False,
            env=environment_with(OPENBLAS_NUM_THREADS="1"),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _failed(path, f"took more than {seconds} s", _WITHOUT) from None
    except OSError as error:
        raise _failed(path, f"could not start: {error}", _WITHOUT) from error
    if done.returncode < 0:
        raise _failed(path, f"ended with {signal.Signals(-done.returncode).name}", _DAMAGED)
    if done.returncode > 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise _failed(path, f"ended with status {done.returncode}: {last}", _WITHOUT)
    return done.stdout


def _failed(path: str | Path, how: str, hint: str) -> InputDataError:
    return InputDataError(
        f"'{path}' cannot be read as NetCDF: the process that read it {how}.", hint=hint
    )


def _mesh(answer: bytes) -> Mesh:
    with np.load(io.BytesIO(answer), allow_pickle=False) as found:
        if _ERROR in found:
            kind, message, *hints = found[_ERROR].tolist()
            raise _KINDS[kind](message, hints=hints)
        tables = {name: found[name] for name in found if "2" in name}
        letters = [name.removesuffix("_x") for name in found if name.endswith("_x")]
        return Mesh(tables, {each: (found[f"{each}_x"], found[f"{each}_y"]) for each in letters})


def _arrays(path: str, memory: int) -> dict[str, Any]:
    """Return tables and coordinates of the file by name, or the words of the error."""
    try:
        files.netcdf()  # its libraries do not count
        _limit(memory)
        mesh = files.read_mesh(path)
    except MemoryError:
        error: FieldforgeError = _failed(path, f"needs more than {memory >> 20} MiB", _WITHOUT)
    except (InputDataError, MissingPackageError) as caught:
        error = caught
    else:
        axes = {
            f"{letter}_{axis}": values
            for letter, pair in mesh.points.items()
            for axis, values in zip("xy", pair, strict=True)
        }
        return {**mesh.tables, **axes}
    return {_ERROR: np.array([type(error).__name__, error.message, *error.hints])}


def _limit(memory: int) -> None:
    """Bound the memory that this process may map from now on; leave no core file."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not _MAPPED.exists():  # Linux alone tells it, and obeys the limit
        return
    pages = int(_MAPPED.read_text().split()[0])
    wanted = pages * resource.getpagesize() + memory
    limits = [each for each in resource.getrlimit(resource.RLIMIT_AS) if each >= 0]
    resource.setrlimit(resource.RLIMIT_AS, (min([wanted, *limits]),) * 2)


def main() -> None:
    """Answer by the standard output, which libraries that print do not reach."""
    with os.fdopen(os.dup(1), "wb") as answer:
        os.dup2(2, 1)
        np.savez(answer, **_arrays(sys.argv[1], int(sys.argv[2])))


if __name__ == "__main__":
    main()
