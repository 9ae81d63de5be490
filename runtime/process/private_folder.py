"""Open folders that no other user can change: code is written to them and run.

A user who may rename a folder of a path can exchange what the path names. So a folder is opened
once, its owner and mode are checked on the descriptor, and files are opened relative to it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from typing import Final

_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_DESCRIPTORS: Final = "/proc/self/fd"
_HAS_DESCRIPTORS: Final = os.path.isdir(_DESCRIPTORS)
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class Folder:
    """An open folder; the descriptor is closed with the last reference to this object.

    Attributes:
        path: the path under which the folder was opened, for messages.
        handle: the descriptor, for the `dir_fd` of the functions in `os`.
        owners: users whose files are trusted; None trusts all users.

    """

    __slots__ = ("_identity", "_is_lost", "handle", "owners", "path")

    def __init__(self, path: str, handle: int, owners: Collection[int] | None) -> None:
        self.path, self.handle, self.owners = path, handle, owners
        self._is_lost = False
        found = os.fstat(handle)
        self._identity = found.st_dev, found.st_ino

    @property
    def is_current(self) -> bool:
        """Whether the folder still exists, and the descriptor is still the one that was opened."""
        links = self._links()
        self._is_lost |= links is None
        return bool(links)

    @property
    def lasting_path(self) -> str:
        """A path that leads here in this process even after renames; off Linux the plain path."""
        return f"{_DESCRIPTORS}/{self.handle}" if _HAS_DESCRIPTORS else self.path

    def __del__(self) -> None:
        """Close the descriptor, unless other code has closed it and may use its number."""
        with suppress(Exception):
            if not self._is_lost and self._links() is not None:
                os.close(self.handle)

    def _links(self) -> int | None:
        """Return how many names the folder has, None if the descriptor is not ours any more."""
        try:
            found = os.fstat(self.handle)
        except OSError:
            return None
        return found.st_nlink if (found.st_dev, found.st_ino) == self._identity else None


def open_folder(
    path: str, owners: Collection[int] | None, at: Folder | None = None, *, follow: bool = False
) -> Folder:
    """Open a folder that one of `owners` owns and no other user can write to.

    Args:
        path: the folder; a link is refused unless `follow` is set.
        owners: users who may own it; None accepts any owner and mode.
        at: the folder that a relative path starts from.
        follow: whether `path` may be a link.

    Raises:
        PermissionError: another user owns the folder, or may write to it.
        OSError: what the system says; ELOOP or ENOTDIR for a link.

    """
    flags = _FLAGS if follow else _FLAGS | os.O_NOFOLLOW
    handle = os.open(path, flags, dir_fd=None if at is None else at.handle)
    try:
        if owners is not None:
            _check(path, os.fstat(handle), owners)
        return Folder(path if at is None else os.path.join(at.path, path), handle, owners)
    except BaseException:
        os.close(handle)
        raise


def make_private(folder: str) -> Folder:
    """Make a folder and the one around it for this user alone, and open it.

    A folder that is open to others is closed. The one around it may belong to root, and others may
    write to it only if it is sticky, as `/tmp` is.

    Raises:
        PermissionError: another user owns either, or may write to the one around it.
        OSError: what the system says.

    """
    around, name = os.path.split(folder)
    around = around or os.curdir
    os.makedirs(os.path.dirname(around) or os.curdir, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(around, 0o700)
    user = os.geteuid()
    if os.lstat(around).st_uid not in (user, 0):  # a link of another user's leads anywhere
        raise PermissionError(errno.EPERM, f"'{around}' belongs to another user, {_WHY}")
    outer = open_folder(around, None, follow=True)
    found = os.fstat(outer.handle)
    if not found.st_mode & stat.S_ISVTX:
        _check(around, found, (user, 0))
    elif found.st_uid not in (user, 0):
        raise PermissionError(errno.EPERM, f"'{around}' belongs to another user, {_WHY}")
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=outer.handle)
    inner = open_folder(name, None, outer)
    found = os.fstat(inner.handle)
    if found.st_uid == user and found.st_mode & _OTHERS_WRITE:
        os.fchmod(inner.handle, 0o700)
        found = os.fstat(inner.handle)
    _check(folder, found, (user,))
    inner.owners = (user,)
    return inner


_WHY: Final = "code in it cannot be trusted"


def _check(path: str, found: os.stat_result, owners: Collection[int]) -> None:
    if found.st_uid not in owners:
        raise PermissionError(errno.EPERM, f"'{path}' belongs to another user, {_WHY}")
    if found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(
            errno.EPERM, f"'{path}' can be written to by others (mode {mode:04o}), {_WHY}"
        )
