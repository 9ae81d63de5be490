"""Open the folders of a store, and check that no other user can write to them.

A store holds code: a user who can write to it can run code as its owner. So its folders are
private. A store that others could have written to is refused before any file in it is read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from contextlib import suppress
from typing import Final

from ..runtime.process.errors import StorePermissionError
from ..runtime.process.private_folder import Folder, open_folder
from .files import publish_all

VERSION: Final = "v1"
PINS: Final = "pins"  # which compilers packs name, beside the records
FOLDERS: Final = ("act", "cas", "neg", "tmp", "bad", "log", "lock")
_TAG: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder is a cache of fieldforge. Deleting it loses nothing but time.\n"
)


def open_store(root: str, owners: Collection[int] | None) -> Folder | None:
    """Open the folder of this format in the store at `root`; None if no store has been made.

    Args:
        root: the store; it may be a link, such as to a scratch disk.
        owners: users who may own the store; None accepts any owner and mode.

    Raises:
        StorePermissionError: another user owns a folder of the store, or may write to it.
        OSError: what the system says.

    """
    try:
        outer = _opened(root, None, owners)
        base = _opened(VERSION, outer, owners)
    except FileNotFoundError:
        return None
    for name in FOLDERS if owners is not None else ():
        try:
            found = os.stat(name, dir_fd=base.handle, follow_symlinks=False)
        except FileNotFoundError:
            continue  # a store that was copied without its empty folders
        _check_one(os.path.join(base.path, name), found, owners or ())
    return base


def _opened(name: str, at: Folder | None, owners: Collection[int] | None) -> Folder:
    path = name if at is None else os.path.join(at.path, name)
    try:
        folder = open_folder(name, None, at, follow=at is None)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise
        raise _no_folder(path) from error
    if owners is not None:
        _check_one(path, os.fstat(folder.handle), owners)
    folder.owners = owners
    return folder


def _check_one(path: str, found: os.stat_result, owners: Collection[int]) -> None:
    if not stat.S_ISDIR(found.st_mode):
        raise _no_folder(path)
    if found.st_uid not in owners:
        raise StorePermissionError(
            f"The store's folder '{path}' belongs to user {found.st_uid}, expected "
            f"{' or '.join(map(str, sorted(owners)))}.",
            hints=("Name a folder of your own with FIELDFORGE_CACHE_DIR.",),
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorePermissionError(
            f"The store's folder '{path}' can be written to by others "
            f"(mode {stat.S_IMODE(found.st_mode):04o}), and what is in it is run as code.",
            hints=(f"Run 'chmod go-w {path}', or name another folder with FIELDFORGE_CACHE_DIR.",),
        )


def _no_folder(path: str) -> StorePermissionError:
    return StorePermissionError(
        f"The store's folder '{path}' is a link or a file, not a folder.",
        hints=("Remove it, or name another folder with FIELDFORGE_CACHE_DIR.",),
    )


def make_store(root: str, owners: Collection[int]) -> Folder:
    """Make what is missing of a store, private from the first moment, and open it."""
    os.makedirs(root, mode=0o700, exist_ok=True)
    outer = _opened(root, None, owners)
    for name in (VERSION, *(f"{VERSION}/{name}" for name in FOLDERS)):
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=outer.handle)
    base = open_store(root, owners)
    if base is None:
        raise OSError(errno.ENOENT, "The store disappeared while it was made", root)
    notes = {"CACHEDIR.TAG": _TAG, "store.json": b'{"format":1,"program":"fieldforge"}\n'}
    known = os.listdir(base.handle)
    missing = {name: content for name, content in notes.items() if name not in known}
    if missing:
        publish_all(base, missing)
    return base
