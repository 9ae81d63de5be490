"""Read and write files that appear whole or not at all, relative to a verified folder."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from ..runtime.process.private_folder import Folder, open_folder

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BAD_LIMIT: Final = 64
_ATTEMPTS: Final = 8
_DAY: Final = 24 * 3600.0
_TMP: Final = "tmp"


def handle_of(folder: Folder | None) -> int | None:
    """Return the `dir_fd` for names in a folder; None for plain paths."""
    return None if folder is None else folder.handle


def read_file(name: str, limit: int, folder: Folder | None = None) -> bytes:
    """Read a regular file of at most `limit` bytes.

    Args:
        name: the file, relative to `folder`; without a folder, its path.
        limit: how many bytes the file may have.
        folder: an open folder; a file in it must belong to one of its owners.

    Raises:
        ValueError: the file is a link, a pipe, too long, or another user's.
        OSError: what the system says.

    """
    try:
        handle = os.open(name, _READ, dir_fd=handle_of(folder))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # what O_NOFOLLOW says, by system
            raise ValueError("It is a link.") from error
        raise
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("It is not a file.")
        if folder is not None and folder.owners is not None:
            _check_owner(found, folder.owners)
        if found.st_size > limit:
            raise ValueError(f"It has {found.st_size} bytes, more than {limit}.")
        return _drain(handle, found.st_size)
    finally:
        os.close(handle)


def _check_owner(found: os.stat_result, owners: Collection[int]) -> None:
    if found.st_uid not in owners:
        raise ValueError(f"It belongs to user {found.st_uid}.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ValueError("It can be written to by others.")


def _drain(handle: int, size: int) -> bytes:
    chunks = []
    while size > 0 and (chunk := os.read(handle, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def publish(folder: Folder, name: str, content: bytes, *, durable: bool = False) -> None:
    """Write `content` to a draft in the folder's `tmp`, then rename it to `name`.

    The draft is locked while it is in use, so that a sweep can tell it from one that a killed
    process left. A file costs less than a folder: some file systems remove folders slowly.
    """
    draft, handle = _make_draft(folder)
    try:
        _write(handle, content, durable)
        _move(folder, draft, name)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder.handle)
        raise
    finally:
        os.close(handle)


def _make_draft(folder: Folder) -> tuple[str, int]:
    """Make and lock an empty file; a sweep may take it in between, then make another."""
    for _ in range(_ATTEMPTS):
        draft = f"{_TMP}/{_unique_name()}"
        handle = os.open(draft, _WRITE, 0o444, dir_fd=folder.handle)
        is_ours = False
        try:
            is_ours = _lock(handle) is not False and is_same_file(handle, draft, folder)
        finally:
            if not is_ours:  # the next sweep removes what is left
                os.close(handle)
        if is_ours:
            return draft, handle
    raise OSError(errno.EBUSY, "Drafts keep disappearing.", folder.path)


def _unique_name() -> str:
    return f"{os.uname().nodename}-{os.getpid()}-{os.urandom(8).hex()}"


def _write(handle: int, content: bytes, durable: bool) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]
    if durable:
        os.fsync(handle)
    os.close(os.dup(handle))  # a full network disk may say so only here


def _move(folder: Folder, draft: str, name: str) -> None:
    there = {"src_dir_fd": folder.handle, "dst_dir_fd": folder.handle}
    try:
        os.replace(draft, name, **there)
    except FileNotFoundError:
        make_folders(os.path.dirname(name), folder)
        os.replace(draft, name, **there)


def make_folders(name: str, folder: Folder | None = None) -> None:
    """Make a private folder and those around it, as far as they are missing."""
    if folder is None:
        os.makedirs(name, mode=0o700, exist_ok=True)
        return
    try:
        os.mkdir(name, 0o700, dir_fd=folder.handle)
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folders(os.path.dirname(name), folder)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder.handle)


def read_note(path: str, limit: int, owners: Collection[int] | None = ()) -> bytes:
    """Read a small file whose folder belongs to this user, root or one of `owners`.

    None for `owners` accepts any owner. Raises as `read_file` does, and `PermissionError`.
    """
    place, name = os.path.split(path)
    allowed = None if owners is None else (os.geteuid(), 0, *owners)
    return read_file(name, limit, open_folder(place, allowed, follow=True))


def keep_note(place: str, name: str, content: bytes, *, make: bool = True) -> None:
    """Write a small file that may be lost to a store's folder; an error of the system is ignored.

    Without `make`, nothing is written to a store that has not been made yet.
    """
    with suppress(OSError):
        if make:
            make_folders(place)
        folder = open_folder(place, (os.geteuid(),), follow=True)
        if make:
            make_folders(_TMP, folder)
        publish_all(folder, {name: content})


def publish_all(folder: Folder, files: dict[str, bytes]) -> None:
    """Write files to a store's folder by way of its `tmp`, each whole or not at all."""
    for name, content in files.items():
        publish(folder, name, content)


def set_aside(folder: Folder, name: str, aside: str) -> None:
    """Move a damaged file to `aside` for a person to look at, or delete it when that is full."""
    make_folders(aside, folder)
    with suppress(FileNotFoundError):  # another process was faster
        if len(names_in(aside, folder)) >= _BAD_LIMIT:
            os.unlink(name, dir_fd=folder.handle)
        else:
            new = f"{aside}/{os.path.basename(name)}-{os.urandom(4).hex()}"
            os.rename(name, new, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)


def names_in(name: str, folder: Folder) -> list[str]:
    """Return the sorted names in a folder inside `folder`."""
    handle = os.open(name, _FOLDER, dir_fd=folder.handle)
    try:
        return sorted(os.listdir(handle))
    finally:
        os.close(handle)


@contextmanager
def scratch_folder(parent: Folder) -> Iterator[Folder]:
    """Make a private folder below `parent` and remove it afterwards.

    The folder is locked while it is in use, so that a sweep can tell it from one that a killed
    process left.
    """
    scratch = _make_scratch(parent)
    try:
        yield scratch
    finally:
        _remove(os.path.basename(scratch.path), parent)


def _remove(name: str, parent: Folder) -> None:
    """Remove a draft, or a folder as far as possible."""
    with suppress(OSError):  # it is a folder
        os.unlink(name, dir_fd=parent.handle)
        return
    try:
        os.rmdir(name, dir_fd=parent.handle)  # its files have all been moved
    except OSError:
        import shutil  # brings every format of archives along

        shutil.rmtree(name, ignore_errors=True, dir_fd=parent.handle)


def _make_scratch(parent: Folder) -> Folder:
    """Make and lock a folder; a sweep may take it in between, then make another."""
    for _ in range(_ATTEMPTS):
        name = _unique_name()
        os.mkdir(name, 0o700, dir_fd=parent.handle)
        try:
            scratch = _occupy(name, parent)
        except OSError:
            _remove(name, parent)
            raise
        if scratch is not None:
            return scratch
    raise OSError(errno.EBUSY, "Scratch folders keep disappearing.", parent.path)


def _occupy(name: str, parent: Folder) -> Folder | None:
    """Open and lock a folder; None when a sweep was faster."""
    try:
        scratch = open_folder(name, (os.geteuid(),), parent)
    except FileNotFoundError:
        return None
    scratch.owners = None  # nobody else reaches a file in it, whatever the umask of a compiler
    is_free = _lock(scratch.handle) is not False
    return scratch if is_free and is_same_file(scratch.handle, name, parent) else None


def _lock(handle: int) -> bool | None:
    """Lock a folder: whether it was free, None where folders have no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_same_file(handle: int, name: str, folder: Folder | None = None) -> bool:
    """Tell whether `name` still names the file that `handle` has open."""
    try:
        named = os.stat(name, dir_fd=handle_of(folder), follow_symlinks=False)
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


def sweep(parent: Folder) -> int:
    """Remove drafts and scratch folders that no process uses any more; return how many.

    On this host one goes if its lock is free, on other hosts if it is older than a day.
    """
    host = os.uname().nodename
    names = sorted(os.listdir(parent.handle))
    return sum(_sweep_one(name, parent, name.rsplit("-", 2)[0] == host) for name in names)


def _sweep_one(name: str, parent: Folder, local: bool) -> bool:
    """Remove one, under its lock, so that no process can begin to use it meanwhile."""
    try:
        found = os.stat(name, dir_fd=parent.handle, follow_symlinks=False)
        if time.time() - found.st_mtime > _DAY:
            _remove(name, parent)
            return True
        if not local:
            return False
        handle = os.open(name, _READ, dir_fd=parent.handle)
    except OSError:
        return False
    try:
        if _lock(handle) is not True:
            return False
        _remove(name, parent)
        return True
    finally:
        os.close(handle)
