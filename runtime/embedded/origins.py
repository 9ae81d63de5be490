"""Why a point has no value: a side of `where` that ends there, or a missing neighbour.

Every origin has a number. A point that lacks a value because of it carries a code: that number,
and for a missing neighbour the entry of the table. The code of a valid point is 0.
"""

from __future__ import annotations

import itertools
from typing import Any, Final, TypeAlias

import numpy as np

from ..fields import Connectivity
from ..language import Domain
from ..process import classes
from .provenance import Place

VALID: Final = 0
_ENTRY_BITS: Final = 36  # a table of int32 indices has fewer entries
_MOST: Final = 2 ** (63 - _ENTRY_BITS) - 1
_numbers: Final = itertools.count()


def _number() -> int:
    return next(_numbers) % _MOST + 1


@classes.frozen(eq=False)
class Choice:
    """One `where` with a side that ends before the mask does: where it stands, and its domains."""

    place: Place
    sides: tuple[Domain | None, Domain | None]  # None for a side that exists everywhere
    number: int = classes.field(factory=_number)

    @property
    def code(self) -> np.int64:
        """The code of a point at which no side exists."""
        return np.int64(self.number << _ENTRY_BITS)


@classes.frozen(eq=False)
class MissingNeighbour:
    """One gather through a table with missing neighbours.

    `slot` is that of `E2C[1]`, whose table has no local dimension.
    """

    place: Place
    name: str
    table: Connectivity
    slot: int | None
    number: int = classes.field(factory=_number)

    def codes(self) -> Any:
        """Return the code of each entry of the table."""
        entries = np.arange(self.table.asnumpy().size).reshape(self.table.shape)
        return np.where(self.table.valid(), VALID, (self.number << _ENTRY_BITS) + entries)

    def entry(self, code: int) -> tuple[int, int]:
        """Return the row and the slot that a code stands for."""
        place = np.unravel_index(code % 2**_ENTRY_BITS, self.table.shape)
        row = self.table.domain[0].unit_range[int(place[0])]
        return row, int(place[1]) if self.slot is None else self.slot


Origin: TypeAlias = Choice | MissingNeighbour


def origin_of(code: int, origins: tuple[Origin, ...]) -> Origin:
    """Return what made a point invalid."""
    return next(origin for origin in origins if origin.number == code >> _ENTRY_BITS)
