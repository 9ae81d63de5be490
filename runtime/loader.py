"""Load the bytes of a shared library: verified, from a private file, once written."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

import attrs

from . import _core
from .errors import FieldforgeError
from .plan import ENTRY, Plan

OPENMP: Final = ("omp_set_num_threads", "omp_get_max_threads")
_LIBRARY_MODE: Final = 0o500
_FOLDER_MODE: Final = 0o700


class LibraryError(FieldforgeError):
    """A compiled library cannot be written, loaded, or lacks its entry point."""


@attrs.frozen
class Library:
    """A loaded library; it stays loaded as long as anything refers to `handle`."""

    handle: _core.Library
    address: int

    def entry(self, plan: Plan, threads: int = 0) -> _core.Entry:
        """Return the entry that calls this library by `plan`, and keeps it loaded.

        It uses `threads` threads unless a call asks for others, 0 as many as OpenMP has.
        """
        set_threads, get_threads = (self.handle.symbol(name) or 0 for name in OPENMP)
        return _core.Entry(plan, self.address, self.handle, set_threads, get_threads, threads)


def load_library(data: bytes, directory: Path) -> Library:
    """Write `data` to a file of its own in `directory`, unless it is there, and load it.

    The name of the file is the digest of its content, so that equal libraries are
    loaded once in a process.
    """
    path = directory / f"{hashlib.sha256(data).hexdigest()}.so"
    try:
        _make_private(directory)
        if not _holds(path, data):
            _write(path, data)
    except OSError as error:
        raise LibraryError(
            f"The library '{path}' cannot be written: {error.strerror or error}.",
            hint="Set FIELDFORGE_CACHE_DIR to a folder that this user may write.",
        ) from error
    return _load(path)


def _make_private(directory: Path) -> None:
    """Make the folder, or refuse one in which somebody else could exchange a library."""
    directory.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    status = directory.stat()
    if status.st_uid != os.geteuid():
        raise LibraryError(
            f"The folder '{directory}' belongs to another user, so code in it cannot be trusted."
        )
    if stat.S_IMODE(status.st_mode) & 0o022:
        directory.chmod(_FOLDER_MODE)


def _holds(path: Path, data: bytes) -> bool:
    """Compare the whole content: a damaged library must never run."""
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _write(path: Path, data: bytes) -> None:
    import tempfile  # a warm start finds its libraries written

    descriptor, sibling = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem[:16]}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(sibling).chmod(_LIBRARY_MODE)
        os.replace(sibling, path)
    except BaseException:
        Path(sibling).unlink(missing_ok=True)
        raise


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
