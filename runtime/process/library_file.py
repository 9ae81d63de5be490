"""Verified private files of shared libraries: written once, compared before each use."""

from __future__ import annotations

import fcntl
import functools
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from .errors import LibraryError
from .private_folder import Folder, make_private
from .sha256 import sha256

_LIBRARY_MODE: Final = 0o500
_DRAFT: Final = ".draft-"
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


def place_library(data: bytes, directory: Path) -> Path:
    """Write `data` to a verified private file in `directory`, unless it is there."""
    path = directory / f"{sha256(data)}.so"
    placed(path, data)
    return path


def placed(path: Path, data: bytes) -> Folder:
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
            write_all(handle, data)
        finally:
            os.close(handle)
        os.replace(draft, name, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder.handle)
        raise


def write_all(handle: int, data: bytes) -> None:
    """Write all of `data` to a descriptor."""
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
