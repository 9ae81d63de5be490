"""When a store prunes itself: once a day, and whenever a tenth of its budget has been written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from .faults import Faults
from .locks import BuildLock
from .shelves import Shelves

if TYPE_CHECKING:  # a warm start takes nothing away
    from .eviction import Budget, Pruned

_EVERY: Final = 24 * 3600.0
_STAMP: Final = "pruned"


class Upkeep:
    """Counts what one process writes to a store."""

    def __init__(self, shelves: Shelves, budget: Budget | int | None, faults: Faults) -> None:
        self._shelves, self._budget, self._faults = shelves, budget, faults
        self._written = 0

    def prune(self, budget: Budget, dry: bool) -> Pruned | None:
        """Prune, unless another process is at it."""
        from .eviction import prune

        stamp = os.path.join(self._shelves.base, _STAMP)
        if os.path.islink(stamp):  # it is nobody's lock, and would never be one
            os.unlink(stamp)
        with BuildLock(stamp, self._faults.on_event).acquire(0, "prune") as mine:
            return prune(self._shelves, budget, dry=dry) if mine else None

    def wrote(self, path: str, size: int) -> None:
        """Take note of a record that has just been written to `path`; prune if that is due."""
        self._written += size
        if self._budget is None:
            return
        from .eviction import Budget

        budget = Budget(size=self._budget) if isinstance(self._budget, int) else self._budget
        if not self._is_due(path, budget):
            return
        self._written = 0
        try:
            pruned = self.prune(budget, False)
        except OSError as error:
            self._faults.unwritable(self._shelves.base, error)
            return
        if pruned is not None:
            self._faults.on_event("store.pruned", path=self._shelves.root, freed=pruned.freed)

    def _is_due(self, path: str, budget: Budget) -> bool:
        """Compare two times of the same file system; no clock of a host is asked."""
        if self._written >= budget.size // 10:
            return True
        try:
            now = os.stat(path).st_mtime
            return now - os.stat(os.path.join(self._shelves.base, _STAMP)).st_mtime >= _EVERY
        except FileNotFoundError:
            return True
        except OSError:
            return False
