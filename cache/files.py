"""Files that appear whole or not at all, and reads that follow no link."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .locks import is_same_file

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BAD_LIMIT = 64
_DAY = 24 * 3600.0


def read_file(path: str, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Raises `ValueError` for anything that should not lie there (a link, a pipe, a file that is too
    long), `OSError` for what the system says.
    """
    try:
        handle = os.open(path, _READ)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # what O_NOFOLLOW says, by system
            raise ValueError("It is a link.") from error
        raise
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("It is not a file.")
        if found.st_size > limit:
            raise ValueError(f"It has {found.st_size} bytes, more than {limit}.")
        return _drain(handle, found.st_size)
    finally:
        os.close(handle)


def _drain(handle: int, size: int) -> bytes:
    chunks = []
    while size > 0 and (chunk := os.read(handle, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def publish(scratch: str, path: str, content: bytes, *, durable: bool = False) -> None:
    """Write `content` to a file in `scratch`, then rename it to `path`."""
    draft = os.path.join(scratch, os.path.basename(path))
    handle = os.open(draft, _WRITE, 0o444)
    try:
        _write(handle, content, durable)
        _move(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _write(handle: int, content: bytes, durable: bool) -> None:
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if durable:
            os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            os.close(handle)
        raise
    os.close(handle)  # a full network disk may say so only here


def _move(draft: str, path: str) -> None:
    try:
        os.replace(draft, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.replace(draft, path)


def keep_note(folder: str, name: str, content: bytes) -> None:
    """Write a small file that may be lost to a store's folder; what cannot be written is let go."""
    with suppress(OSError):
        os.makedirs(os.path.join(folder, "tmp"), mode=0o700, exist_ok=True)
        with scratch_folder(os.path.join(folder, "tmp")) as scratch:
            publish(scratch, os.path.join(folder, name), content)


def set_aside(path: str, folder: str) -> None:
    """Move a damaged file to `folder` for a person to look at, or delete it when that is full."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with suppress(FileNotFoundError):  # another process was faster
        if len(os.listdir(folder)) >= _BAD_LIMIT:
            os.unlink(path)
        else:
            os.rename(path, f"{folder}/{os.path.basename(path)}-{os.urandom(4).hex()}")


@contextmanager
def scratch_folder(parent: str) -> Iterator[str]:
    """Make a folder of one's own below `parent` and remove it afterwards.

    It is locked while in use, so that others can tell it from one that a killed process left.
    """
    path, handle = _make_scratch(parent)
    try:
        yield path
    finally:
        _remove(path)
        with suppress(OSError):
            os.close(handle)


def _remove(path: str) -> None:
    """Remove a folder as far as possible."""
    import shutil  # brings every format of archives along; a warm start removes nothing

    shutil.rmtree(path, ignore_errors=True)


def _make_scratch(parent: str) -> tuple[str, int]:
    """Make and lock; a sweep may take the folder in between, then make another."""
    for _ in range(8):
        name = f"{os.uname().nodename}-{os.getpid()}-{os.urandom(8).hex()}"
        path = os.path.join(parent, name)
        os.mkdir(path, 0o700)
        try:
            handle = _occupy(path)
        except OSError:
            _remove(path)
            raise
        if handle is not None:
            return path, handle
    raise OSError(errno.EBUSY, "Scratch folders keep disappearing.", parent)


def _occupy(path: str) -> int | None:
    """Open and lock a folder; None when a sweep was faster."""
    try:
        handle = os.open(path, _FOLDER)
    except FileNotFoundError:
        return None
    try:
        if _lock(handle) is not False and is_same_file(handle, path):
            return handle
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _lock(handle: int) -> bool | None:
    """Lock a folder: whether it was free, None where folders have no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sweep(parent: str) -> int:
    """Remove scratch folders that nobody uses any more; return how many.

    On this host those whose lock is free, on others those older than a day.
    """
    host = os.uname().nodename
    names = sorted(os.listdir(parent))
    return sum(_sweep_one(os.path.join(parent, n), n.rsplit("-", 2)[0] == host) for n in names)


def _sweep_one(path: str, local: bool) -> bool:
    """Remove one folder, under its lock, so that nobody can begin to use it meanwhile."""
    try:
        if time.time() - os.lstat(path).st_mtime > _DAY:
            _remove(path)
            return True
        if not local:
            return False
        handle = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        if _lock(handle) is not True:
            return False
        _remove(path)
        return True
    finally:
        os.close(handle)
