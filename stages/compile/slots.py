"""Limit how many compilers run at once where builds compile several translation units.

A pool of builds has slots of its own. Elsewhere all builds of the process share as many slots as
the setting `jobs` allows, and only their further units wait for one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ...runtime.process.settings import current


class Slots:
    """A number of slots, at least one; `first_waits` tells whether each build waits for its first.

    >>> slots = Slots(2)
    >>> [slots.take(is_first=False) for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, limit: int, *, first_waits: bool = True) -> None:
        self._free = max(limit, 1)
        self._first_waits = first_waits
        self._changed = threading.Condition()

    def take(self, *, is_first: bool) -> bool:
        """Take a slot for a compiler; only the first of a build waits until there is one."""
        with self._changed:
            if is_first and self._first_waits:
                self._changed.wait_for(lambda: self._free > 0)
            if not is_first and self._free <= 0:
                return False
            self._free -= 1
            return True

    def give(self) -> None:
        """Give a slot back."""
        with self._changed:
            self._free += 1
            self._changed.notify()


_of_block: Final[ContextVar[Slots | None]] = ContextVar("slots", default=None)
_usual: Final[dict[int, Slots]] = {}  # by the number of jobs


@contextmanager
def using_slots(slots: Slots) -> Iterator[None]:
    """Let compilers that this thread starts in the block take these slots."""
    token = _of_block.set(slots)
    try:
        yield
    finally:
        _of_block.reset(token)


def slots_here() -> Slots:
    """Return the slots of the block, or those that the whole process shares."""
    jobs = current().jobs
    return _of_block.get() or _usual.setdefault(jobs, Slots(jobs, first_waits=False))


os.register_at_fork(after_in_child=_usual.clear)  # the compilers of the parent do not count
