"""When a store prunes itself: once a day, and whenever a tenth of its budget has been written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import attrs

from .faults import Faults
from .locks import BuildLock
from .shelves import Shelves

if TYPE_CHECKING:  # a warm start takes nothing away
    from .eviction import Budget, Pruned

_EVERY: Final = 24 * 3600.0
_STAMP: Final = "pruned"


@attrs.define
class Upkeep:
    """Counts what one process writes to a store."""

    shelves: Shelves
    budget: Budget | None
    faults: Faults
    _written: int = attrs.field(default=0, init=False)

    def prune(self, budget: Budget, dry: bool) -> Pruned | None:
        """Prune, unless another process is at it."""
        from .eviction import prune

        stamp = os.path.join(self.shelves.base, _STAMP)
        with BuildLock(stamp, self.faults.on_event).acquire(0, "prune") as mine:
            return prune(self.shelves, budget, dry=dry) if mine else None

    def wrote(self, path: str, size: int) -> None:
        """Take note of a record that has just been written to `path`; prune if that is due."""
        self._written += size
        if self.budget is None or not self._is_due(path, self.budget):
            return
        self._written = 0
        try:
            pruned = self.prune(self.budget, False)
        except OSError as error:
            self.faults.unwritable(self.shelves.base, error)
            return
        if pruned is not None:
            self.faults.on_event("store.pruned", path=self.shelves.root, freed=pruned.freed)

    def _is_due(self, path: str, budget: Budget) -> bool:
        """Compare two times of the same file system; no clock of a host is asked."""
        if self._written >= budget.size // 10:
            return True
        try:
            now = os.stat(path).st_mtime
            return now - os.stat(os.path.join(self.shelves.base, _STAMP)).st_mtime >= _EVERY
        except FileNotFoundError:
            return True
        except OSError:
            return False
