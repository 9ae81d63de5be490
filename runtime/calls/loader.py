"""Load the bytes of a shared library from a private file, or from sealed memory.

The file lies in a folder whose owner and mode were checked, and is loaded by way of the descriptor
of that folder. Memory that nobody can change is used where no file can be written or run.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import Final

from .. import _core
from ..process import LibraryError
from ..process.library_file import placed, write_all
from ..process.sha256 import sha256
from .elf import fault_in
from .machine import use_machine
from .plan import ENTRY, Plan

RUNTIMES: Final = (b"libgomp", b"libomp", b"libiomp")  # what DaCe's code and that of users needs
OPENMP: Final = ("omp_set_num_threads", "omp_get_max_threads")
_MEMORY_FLAGS: Final = getattr(os, "MFD_CLOEXEC", 0) | getattr(os, "MFD_ALLOW_SEALING", 0)
_SEALS: Final = sum(
    getattr(fcntl, f"F_SEAL_{what}", 0) for what in ("SEAL", "SHRINK", "GROW", "WRITE")
)
_sealed: Final[dict[str, int]] = {}
_guard: Final = threading.Lock()


class Library:
    """A loaded library; it stays loaded as long as anything refers to `handle`.

    A plain class, because making an attrs class would double the import time of this module.
    """

    __slots__ = ("address", "handle")

    def __init__(self, handle: _core.Library, address: int) -> None:
        self.handle, self.address = handle, address

    def entry(self, plan: Plan, threads: int = 0) -> _core.Entry:
        """Return the entry that calls this library by `plan`, and keeps it loaded.

        It uses `threads` threads unless a call sets another count; 0 means those of the process.
        """
        use_machine()
        set_threads, get_threads = (self.handle.symbol(name) or 0 for name in OPENMP)
        return _core.Entry(plan, self.address, self.handle, set_threads, get_threads, threads)


def load_library(data: bytes, directory: Path, *, or_memory: bool = False) -> Library:
    """Write `data` to its own file in `directory`, unless it exists already, and load it.

    The name of the file is the digest of its content, so that equal libraries are
    loaded once in a process. With `or_memory`, a library is loaded from memory if it cannot be
    loaded from a file: the disk is full or read-only, the folder is another user's, or programs in
    it may not run.

    Raises:
        LibraryError: the library is incomplete, cannot be written or loaded, or lacks its entry.

    """
    problem = fault_in(data, ENTRY)
    if problem is not None:
        raise LibraryError(
            f"The library cannot be loaded: {problem}",
            hint="The linker left it incomplete, or another code generator wrote it.",
        )
    uses_openmp = any(name in data for name in RUNTIMES)
    digest = sha256(data)
    name = f"{digest}.so"
    path = directory / name
    try:
        folder = placed(path, data)
        return _load(f"{folder.lasting_path}/{name}", path, uses_openmp)
    except LibraryError:
        copy = _sealed_copy(digest, data) if or_memory else None
        if copy is None:
            raise
        return _load(copy, path, uses_openmp)


def _sealed_copy(digest: str, data: bytes) -> str | None:
    """Write to memory and seal it; None where the system has no such memory.

    The descriptor stays open: another one with its number would have its path, and the
    system takes equal paths for equal libraries.
    """
    with _guard:
        if digest not in _sealed:
            try:
                handle = os.memfd_create(f"fieldforge-{digest[:16]}", _MEMORY_FLAGS)
                write_all(handle, data)
                fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
            except (OSError, AttributeError):  # only Linux has it
                return None
            _sealed[digest] = handle
        return f"/proc/self/fd/{_sealed[digest]}"


def _load(place: str, path: Path, uses_openmp: bool) -> Library:
    """Load the library at `place`; errors name it by `path`."""
    try:
        handle = _core.Library(place, uses_openmp)
    except RuntimeError as error:
        raise LibraryError(
            f"The library '{path}' cannot be loaded: {error}.",
            hint="It was built for another machine, or its folder does not allow programs to run.",
        ) from error
    address = handle.symbol(ENTRY)
    if address is None:
        raise LibraryError(
            f"The library '{path}' has no function '{ENTRY}'.",
            hint="It was written by a code generator for another version of the entry point.",
        )
    return Library(handle, address)
