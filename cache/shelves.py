"""The folders of a store on disk: where a record, a blob, a lock lies, and what lies there now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from .record import is_key
from .root import VERSION


class Lying:
    """One file of a store: how much room it takes, and when it was written or last used."""

    __slots__ = ("name", "path", "size", "stamp")

    def __init__(self, path: str, name: str, size: int, stamp: float) -> None:
        self.path, self.name, self.size, self.stamp = path, name, size, stamp


class Shelves:
    """Paths below one root; plain classes, as every warm start makes them."""

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def base(self) -> str:
        """The folder of this format; other formats have their own beside it."""
        return os.path.join(self.root, VERSION)

    def folder(self, name: str) -> str:
        """Return a folder by its name, such as 'tmp'."""
        return os.path.join(self.root, VERSION, name)

    def record(self, key: str) -> str:
        """Return where the record under `key` lies."""
        return f"{self.root}/{VERSION}/act/{key[:2]}/{key}"

    def blob(self, sha256: str) -> str:
        """Return where the file with this digest lies."""
        return f"{self.root}/{VERSION}/cas/{sha256[:2]}/{sha256}"

    def lock(self, key: str) -> str:
        """Return the lock file of `key`."""
        return f"{self.root}/{VERSION}/lock/{key[:2]}/{key}"

    def failure(self, key: str) -> str:
        """Return where the failure under `key` lies."""
        return f"{self.root}/{VERSION}/neg/{key[:2]}/{key}"

    def names(self, folder: str) -> Iterator[str]:
        """Yield the keys or digests in a folder such as 'act', sorted."""
        top = self.folder(folder)
        for part in listed(top):
            yield from (name for name in listed(os.path.join(top, part)) if is_key(name))

    def lying(self, folder: str) -> Iterator[Lying]:
        """Yield what lies in a folder such as 'cas', sorted by name."""
        top = self.folder(folder)
        for name in self.names(folder):
            path = os.path.join(top, name[:2], name)
            with suppress(OSError):  # taken away meanwhile
                found = os.lstat(path)
                yield Lying(path, name, found.st_size, found.st_mtime)


def listed(path: str) -> list[str]:
    """Return the sorted names in a folder, none where it cannot be read."""
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def size_of(path: str) -> int:
    """Return the size of a file, 0 where there is none."""
    with suppress(OSError):
        return os.lstat(path).st_size
    return 0
