"""Prune a store once a day, and whenever a tenth of its budget has been written."""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .faults import Faults
from .locks import BuildLock
from .root import Shelves, path_of

if TYPE_CHECKING:  # a warm start evicts nothing
    from .eviction import Budget, Pruned

_EVERY: Final = 24 * 3600.0
_STAMP: Final = "pruned"


class Upkeep:
    """Counts what one process writes to a store."""

    def __init__(self, budget: Budget | int | None, faults: Faults) -> None:
        self._budget, self._faults = budget, faults
        self._written = 0

    def prune(self, shelves: Shelves, budget: Budget, dry: bool) -> Pruned | None:
        """Prune, unless another process is pruning."""
        from .eviction import prune

        with suppress(FileNotFoundError):
            if stat.S_ISLNK(shelves.status(_STAMP).st_mode):  # a link can never be locked
                shelves.remove(_STAMP)
        lock = BuildLock(_STAMP, self._faults.on_event, shelves.base)
        with lock.acquire(0, "prune") as mine:
            return prune(shelves, budget, dry=dry) if mine else None

    def wrote(self, shelves: Shelves, name: str, size: int) -> None:
        """Take note of a record that has just been written; prune if that is due."""
        self._written += size
        if self._budget is None:
            return
        size_of_all = self._budget if isinstance(self._budget, int) else self._budget.size
        if not self._is_due(shelves, name, size_of_all):
            return
        from .eviction import Budget

        budget = Budget(size=self._budget) if isinstance(self._budget, int) else self._budget
        self._written = 0
        try:
            pruned = self.prune(shelves, budget, False)
        except OSError as error:
            self._faults.unwritable(path_of(shelves.root, ""), error)
            return
        if pruned is not None:
            self._faults.on_event("store.pruned", path=shelves.root, freed=pruned.freed)

    def _is_due(self, shelves: Shelves, name: str, most: int) -> bool:
        """Compare two times of the same file system; the clocks of hosts differ."""
        if self._written >= most // 10:
            return True
        try:
            now = shelves.status(name).st_mtime
            return now - shelves.status(_STAMP).st_mtime >= _EVERY
        except FileNotFoundError:
            return True
        except OSError:
            return False
