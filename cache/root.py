"""Open the folders of a store, and check that no other user can write to them.

A store holds code: a user who can write to it can run code as its owner. So its folders are
private. A store that others could have written to is refused before any file in it is read.

Name the files of a store: where a record, a blob, a lock lies, and which files lie there now.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

from ..runtime.process import Folder, StorePermissionError, open_folder
from .faults import Faults
from .files import names_in, publish_all, sweep
from .record import Record, is_key

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


class StoredFile:
    """One file of a store: its size, and when it was written or last used."""

    __slots__ = ("key", "name", "size", "stamp")

    def __init__(self, name: str, key: str, size: int, stamp: float) -> None:
        self.name, self.key, self.size, self.stamp = name, key, size, stamp


class Shelves:
    """Names relative to the open folder of one store; a plain class, as every warm start makes it.

    Attributes:
        root: the store's path, for messages.
        base: the open folder `root`/v1, whose owner and mode were checked.

    """

    __slots__ = ("base", "root")

    def __init__(self, root: str, base: Folder) -> None:
        self.root, self.base = root, base

    def names(self, folder: str) -> Iterator[str]:
        """Yield the keys or digests in a folder such as 'act', sorted."""
        for part in self.listed(folder):
            yield from (name for name in self.listed(f"{folder}/{part}") if is_key(name))

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files in a folder such as 'cas', sorted by name."""
        for key in self.names(folder):
            name = place_of(folder, key)
            with suppress(OSError):  # taken away meanwhile
                found = self.status(name)
                yield StoredFile(name, key, found.st_size, found.st_mtime)

    def listed(self, name: str) -> list[str]:
        """Return the sorted names in a folder, none where it cannot be read."""
        try:
            return names_in(name, self.base)
        except OSError:
            return []

    def status(self, name: str) -> os.stat_result:
        """Return what the system says of a file; a link is not followed."""
        return os.stat(name, dir_fd=self.base.handle, follow_symlinks=False)

    def size_of(self, name: str) -> int:
        """Return the size of a file, 0 where there is none."""
        with suppress(OSError):
            return self.status(name).st_size
        return 0

    def has_all(self, record: Record) -> bool:
        """Tell whether the files that a record names are there, with their sizes."""
        files = [file for output in record.outputs for file in output.files]
        return all(
            file.inline is not None or self.size_of(place_of("cas", file.sha256)) == file.size
            for file in files
        )

    def tmp(self) -> Folder:
        """Open the folder of drafts."""
        return open_folder("tmp", self.base.owners, self.base)

    def has_tmp(self) -> bool:
        """Tell whether the folder of drafts is there."""
        try:
            return stat.S_ISDIR(self.status("tmp").st_mode)
        except OSError:
            return False

    def remove(self, name: str) -> None:
        """Delete a file."""
        os.unlink(name, dir_fd=self.base.handle)


def place_of(folder: str, key: str) -> str:
    """Return the name of a record ('act'), blob ('cas'), lock ('lock') or failure ('neg')."""
    return f"{folder}/{key[:2]}/{key}"


def path_of(root: str, name: str) -> str:
    """Return the path of a file of a store, for messages."""
    return f"{root}/{VERSION}/{name}"


class StoreFolder:
    """The folder of one store, which need not exist yet; deleted and made again, it is reopened."""

    def __init__(self, root: str, owners: tuple[int, ...], signed: bool, faults: Faults) -> None:
        self._root, self._owners, self._signed = root, owners, signed
        self._faults = faults
        self._shelves: Shelves | None = None
        self._made = False

    def opened(self) -> Shelves | None:
        """Return the open store; its owner and mode are checked when it is opened."""
        if self._shelves is None:
            try:
                base = open_store(self._root, None if self._signed else self._owners)
            except OSError as error:
                self._faults.unreadable(self._root, error)
                return None
            self._shelves = None if base is None else Shelves(self._root, base)
        return self._shelves

    def reopened(self) -> bool:
        """Open a store again that was deleted and made anew; tell whether that happened."""
        shelves = self._shelves
        if shelves is None or shelves.base.is_current:
            return False
        self._shelves = None
        try:
            return self.opened() is not None
        except StorePermissionError as error:  # another user has put a store there meanwhile
            cause = PermissionError(errno.EPERM, error.message)
            self._faults.unreadable(self._root, cause)
            return False

    def prepared(self) -> Shelves | None:
        """Make the folders before the first write and sweep what killed processes left."""
        shelves = self._shelves
        if self._made and shelves and shelves.has_tmp() and shelves.base.is_current:
            return shelves
        try:
            shelves = Shelves(self._root, make_store(self._root, self._owners))
            swept = sweep(shelves.tmp())
        except OSError as error:
            self._faults.unwritable(self._root, error)
            return None
        if swept:
            self._faults.on_event("store.swept", path=self._root, folders=swept)
        self._shelves, self._made = shelves, True
        return shelves
