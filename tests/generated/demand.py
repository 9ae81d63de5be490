"""What a value reads of the inputs: the oracle for domains, on plain numbers.

A `Demand` is a function of a box: asking it for the box asks the inputs for
what they must cover. It knows nothing of how fieldforge infers domains.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final, TypeAlias

from .boxes import inside
from .grids import VERTICAL, Box, Table, within

MOST_REMEMBERED = 32


class Mode(Enum):
    """What is asked for: all that is used, or also what must exist though `where` hides it."""

    USED = 1
    HIDDEN = 2  # of this only what is firm must exist
    FIRM = 3  # arguments of scans, indices of `as_offset`: `where` hides nothing of them


_MODE: Final[ContextVar[Mode]] = ContextVar("mode", default=Mode.USED)


@contextmanager
def asking(mode: Mode) -> Iterator[None]:
    """Ask for things in this way inside the block."""
    token = _MODE.set(mode)
    try:
        yield
    finally:
        _MODE.reset(token)


def mode() -> Mode:
    """Return how things are asked for."""
    return _MODE.get()


class Demand:
    """A scalar or field that can be asked for; asks again only where it was not asked before."""

    def __init__(
        self, dims: tuple[str, ...], ask: Callable[[Box], None], value: int | None = None
    ) -> None:
        self.dims = dims
        self.value = value  # that of a scalar which bounds a region
        self._ask = ask
        self._asked: dict[Mode, list[Box]] = {mode: [] for mode in Mode}

    def __call__(self, box: Box) -> None:
        """Ask for a box that has at least the dimensions of the value."""
        own = within(box, self.dims)
        if any(start >= stop for start, stop in own.values()):
            return
        asked = self._asked[_MODE.get()]
        if any(inside(own, before) for before in asked):
            return
        if len(asked) < MOST_REMEMBERED:
            asked.append(own)
        self._ask(own)


# A demand, or a tuple of such: what a name of the generated program stands for.
Meaning: TypeAlias = Any


def nothing(dims: tuple[str, ...] = ()) -> Demand:
    """Return what reads nothing."""
    return Demand(dims, lambda box: None)


def all_of(dims: tuple[str, ...], *parts: Demand) -> Demand:
    """Return what reads each part where it is asked for."""

    def ask(box: Box) -> None:
        for part in parts:
            part(box)

    return Demand(dims, ask)


def shifted(part: Demand, offsets: tuple[tuple[str, int], ...]) -> Demand:
    """Return `part(I + 1, ...)`."""

    def ask(box: Box) -> None:
        moved = dict(box)
        for dim, offset in offsets:
            moved[dim] = moved[dim][0] + offset, moved[dim][1] + offset
        part(moved)

    return Demand(part.dims, ask)


def halved(part: Demand, dim: str, onto: str, offset: int, dims: tuple[str, ...]) -> Demand:
    """Return `part(onto + 0.5)`: index i of `onto` reads index `i + offset` of `dim`."""

    def ask(box: Box) -> None:
        start, stop = box[onto]
        part({**box, dim: (start + offset, stop + offset)})

    return Demand(dims, ask)


def gathered(part: Demand, table: Table, dims: tuple[str, ...], slot: int | None = None) -> Demand:
    """Return `part(table[k])` or `part(table)`: ask for the neighbours in slots that are read."""

    def ask(box: Box) -> None:
        slots = (slot, slot + 1) if slot is not None else box[table.local]
        rows = box[table.target]
        part({**box, table.source: table.hull(*rows, *slots)})

    return Demand(dims, ask)


def reduced(part: Demand, table: Table, dims: tuple[str, ...], slot: int | None = None) -> Demand:
    """Return what reads all slots, or one of them."""
    slots = (0, table.width) if slot is None else (slot, slot + 1)

    def ask(box: Box) -> None:
        part({**box, table.local: slots})

    return Demand(dims, ask)


def displaced(part: Demand, by: Demand, dims: tuple[str, ...], reach: int) -> Demand:
    """Return `part(as_offset(Koff, by))`, where no offset is larger than `reach`."""

    def ask(box: Box) -> None:
        with asking(Mode.FIRM):
            by(box)
        start, stop = box[VERTICAL]
        part({**box, VERTICAL: (start - reach, stop + reach)})

    return Demand(dims, ask)


def column(dims: tuple[str, ...], parts: tuple[Demand, ...], levels: tuple[int, int]) -> Demand:
    """Return a scan: every argument is read on all levels that the statement writes."""

    def ask(box: Box) -> None:
        with asking(Mode.FIRM):
            for part in parts:
                part({**box, VERTICAL: levels})

    return Demand(dims, ask)
