"""Load the bytes of a shared library from a private file, or from sealed memory.

The file lies in a folder whose owner and mode were checked, and is loaded by way of the descriptor
of that folder. Memory that nobody can change is used where no file can be written or run.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from .. import _core
from ..process.errors import LibraryError
from ..process.private_folder import Folder, make_private
from .elf import fault_in
from .machine import use_machine
from .plan import ENTRY, Plan

RUNTIMES: Final = (b"libgomp", b"libomp", b"libiomp")  # what DaCe's code and that of users needs
OPENMP: Final = ("omp_set_num_threads", "omp_get_max_threads")
_LIBRARY_MODE: Final = 0o500
_DRAFT: Final = ".draft-"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_MEMORY_FLAGS: Final = getattr(os, "MFD_CLOEXEC", 0) | getattr(os, "MFD_ALLOW_SEALING", 0)
_SEALS: Final = sum(
    getattr(fcntl, f"F_SEAL_{what}", 0) for what in ("SEAL", "SHRINK", "GROW", "WRITE")
)
_sealed: Final[dict[str, int]] = {}
_guard: Final = threading.Lock()


class Library:
    """A loaded library; it stays loaded as long as anything refers to `handle`.

    A plain class: making one of attrs is half of what importing this takes, at every warm start.
    """

    __slots__ = ("address", "handle")

    def __init__(self, handle: _core.Library, address: int) -> None:
        self.handle, self.address = handle, address

    def entry(self, plan: Plan, threads: int = 0) -> _core.Entry:
        """Return the entry that calls this library by `plan`, and keeps it loaded.

        It uses `threads` threads unless a call asks for others, 0 as many as the process has.
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
    digest = hashlib.sha256(data).hexdigest()
    name = f"{digest}.so"
    path = directory / name
    try:
        folder = _placed(path, data)
        return _load(f"{folder.lasting_path}/{name}", path, uses_openmp)
    except LibraryError:
        copy = _sealed_copy(digest, data) if or_memory else None
        if copy is None:
            raise
        return _load(copy, path, uses_openmp)


def _placed(path: Path, data: bytes) -> Folder:
    """Write a library to a verified folder unless it is there, and return the folder."""
    try:
        folder = _private(str(path.parent))
        if not folder.is_current:  # deleted, or the descriptor was closed
            _private.cache_clear()
            folder = _private(str(path.parent))
        if not _holds(folder, path.name, data):
            _write(folder, path.name, data)
            if not _holds(folder, path.name, data):
                raise OSError("it does not hold what was written")
    except OSError as error:
        raise LibraryError(
            f"The library '{path}' cannot be written: {error.strerror or error}.",
            hint="Name a folder that this user may write in FIELDFORGE_LOCAL_DIR.",
        ) from error
    return folder


@functools.lru_cache(maxsize=8)
def _private(directory: str) -> Folder:
    return make_private(directory)


def _holds(folder: Folder, name: str, data: bytes) -> bool:
    """Compare owner, mode and the whole content: a damaged library must never run."""
    try:
        handle = os.open(name, _READ, dir_fd=folder.handle)
        with open(handle, "rb", buffering=0) as stream:
            found = os.fstat(handle)
            is_ours = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE
            return is_ours and found.st_size == len(data) and stream.read() == data
    except OSError:
        return False


def _write(folder: Folder, name: str, data: bytes) -> None:
    """Write to a draft and rename it; drafts of processes that were killed go."""
    _sweep(folder)
    draft = f"{_DRAFT}{os.getpid()}-{os.urandom(8).hex()}"
    handle = os.open(draft, _CREATE, _LIBRARY_MODE, dir_fd=folder.handle)
    try:
        try:
            with suppress(OSError):  # where files have no locks, drafts are swept too early
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_all(handle, data)
        finally:
            os.close(handle)
        os.replace(draft, name, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder.handle)
        raise


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sweep(folder: Folder) -> None:
    """Remove drafts that no process holds a lock on."""
    for name in os.listdir(folder.handle):
        if name.startswith(_DRAFT):
            with suppress(OSError):
                handle = os.open(name, _READ, dir_fd=folder.handle)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=folder.handle)
                finally:
                    os.close(handle)


def _sealed_copy(digest: str, data: bytes) -> str | None:
    """Write to memory and seal it; None where the system has no such memory.

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
