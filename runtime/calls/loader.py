"""Load the bytes of a shared library: verified, from a private file, once written.

Where no file can be written or run, from sealed memory, which nobody can change.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from .. import _core
from ..process.errors import FieldforgeError
from ..process.private_folder import make_private
from .plan import ENTRY, Plan

OPENMP: Final = ("omp_set_num_threads", "omp_get_max_threads")
_LIBRARY_MODE: Final = 0o500
_DRAFT: Final = ".draft-"
_MEMORY_FLAGS: Final = getattr(os, "MFD_CLOEXEC", 0) | getattr(os, "MFD_ALLOW_SEALING", 0)
_SEALS: Final = sum(
    getattr(fcntl, f"F_SEAL_{what}", 0) for what in ("SEAL", "SHRINK", "GROW", "WRITE")
)
_sealed: Final[dict[str, int]] = {}
_guard: Final = threading.Lock()


class LibraryError(FieldforgeError):
    """A compiled library cannot be written, loaded, or lacks its entry point."""


class Library:
    """A loaded library; it stays loaded as long as anything refers to `handle`.

    A plain class: making one of attrs is half of what importing this takes, at every warm start.
    """

    __slots__ = ("address", "handle")

    def __init__(self, handle: _core.Library, address: int) -> None:
        self.handle, self.address = handle, address

    def entry(self, plan: Plan, threads: int = 0) -> _core.Entry:
        """Return the entry that calls this library by `plan`, and keeps it loaded.

        It uses `threads` threads unless a call asks for others, 0 as many as OpenMP has.
        """
        set_threads, get_threads = (self.handle.symbol(name) or 0 for name in OPENMP)
        return _core.Entry(plan, self.address, self.handle, set_threads, get_threads, threads)


def load_library(data: bytes, directory: Path, *, or_memory: bool = False) -> Library:
    """Write `data` to a file of its own in `directory`, unless it is there, and load it.

    The name of the file is the digest of its content, so that equal libraries are
    loaded once in a process. With `or_memory`, what cannot be loaded from a file (the disk is full
    or read-only, the folder is another user's or runs no programs) is loaded from memory.
    """
    try:
        return _load(place_library(data, directory))
    except LibraryError:
        copy = _sealed_copy(hashlib.sha256(data).hexdigest(), data) if or_memory else None
        if copy is None:
            raise
        return _load(copy)


def place_library(data: bytes, directory: Path) -> Path:
    """Write `data` to a verified private file in `directory`, unless it is there."""
    path = directory / f"{hashlib.sha256(data).hexdigest()}.so"
    _place(path, data)
    return path


def _place(path: Path, data: bytes) -> None:
    try:
        make_private(str(path.parent))
        if not _holds(path, data):
            _write(path, data)
            if not _holds(path, data):
                raise OSError("it does not hold what was written")
    except OSError as error:
        raise LibraryError(
            f"The library '{path}' cannot be written: {error.strerror or error}.",
            hint="Name a folder that this user may write in FIELDFORGE_LOCAL_DIR.",
        ) from error


def _holds(path: Path, data: bytes) -> bool:
    """Compare the whole content: a damaged library must never run."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _write(path: Path, data: bytes) -> None:
    """Write to a draft and rename it; drafts of processes that were killed go."""
    _sweep(path.parent)
    draft = f"{path.parent}/{_DRAFT}{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(draft, flags, _LIBRARY_MODE)
    try:
        try:
            with suppress(OSError):  # where files have no locks, drafts are swept too early
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_all(handle, data)
        finally:
            os.close(handle)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sweep(directory: Path) -> None:
    """Remove drafts that nobody holds a lock on."""
    for name in os.listdir(directory):
        if name.startswith(_DRAFT):
            with suppress(OSError):
                handle = os.open(directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(directory / name)
                finally:
                    os.close(handle)


def _sealed_copy(digest: str, data: bytes) -> Path | None:
    """Write to memory and seal it; None where there is no such memory.

    The descriptor stays open: another one with its number would have its path, and the
    system takes equal paths for equal libraries.
    """
    with _guard:
        if digest not in _sealed:
            try:
                handle = os.memfd_create(f"fieldforge-{digest[:16]}", _MEMORY_FLAGS)
                _write_all(handle, data)
                fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
            except (OSError, AttributeError):  # only Linux has it
                return None
            _sealed[digest] = handle
        return Path(f"/proc/self/fd/{_sealed[digest]}")


def _load(path: Path) -> Library:
    try:
        handle = _core.Library(str(path))
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
