"""Open the folder of a store at the first read, make it at the first write.

The folder `v1` is opened once, and its owner and mode are checked on the descriptor. Every file is
opened relative to that descriptor, so nobody can exchange the store by renaming a folder above it.
"""

from __future__ import annotations

import errno

from ..runtime.process.errors import StorePermissionError
from . import root as layout
from .faults import Faults
from .files import sweep
from .shelves import Shelves


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
                base = layout.open_store(self._root, None if self._signed else self._owners)
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
            shelves = Shelves(self._root, layout.make_store(self._root, self._owners))
            swept = sweep(shelves.tmp())
        except OSError as error:
            self._faults.unwritable(self._root, error)
            return None
        if swept:
            self._faults.on_event("store.swept", path=self._root, folders=swept)
        self._shelves, self._made = shelves, True
        return shelves
