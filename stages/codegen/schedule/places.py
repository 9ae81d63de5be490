"""Places: the index along each dimension at which a value is taken, relative to the loops.

A coordinate is a base and an offset. The base is the loop's own index (`OWN`), nothing at all
(`FIXED`: the offset is the index, as for slot 2 of a local dimension), or an *index value*, by its
number: an entry of a neighbour table, the loop's index along a staggered dimension, the one index
that a bound gives, or an index that a value of the program displaces. Equal index values have one
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.bounds import Bound

OWN, FIXED = 0, -1

Coord: TypeAlias = tuple[int, int]  # base, offset
Coords: TypeAlias = tuple[Coord, ...]  # one for each dimension of a node
Point: TypeAlias = tuple[int, Coords]  # a node, and where it is taken


@classes.frozen(kw_only=True)
class Entries(dataflow.Value):
    """A neighbour table, read like a field of int32 over (target, local)."""

    table: str
    skip: bool
    width: int = 0


@classes.frozen
class Entry:
    """The index that a neighbour table gives: the value of `point`, a node of `Entries`.

    `known` is a dimension and the coordinate along it that the entry equals where it is there: what
    a table has where its transpose says that it has an element is that element.
    """

    point: Point
    known: tuple[Dimension, Coord] | None = None


@classes.frozen
class Along:
    """The loop's own index along another dimension, as staggered fields are read."""

    dim: Dimension


@classes.frozen
class Level:
    """The index that a bound gives, the same wherever a loop is."""

    at: Bound


@classes.frozen
class Moved:
    """The index `at` along `dim`, moved by the value of `by`."""

    dim: Dimension
    at: Coord
    by: Point


IndexValue: TypeAlias = Entry | Along | Level | Moved


def still(count: int) -> Coords:
    """Return the place of the loop indices themselves."""
    return ((OWN, 0),) * count


def is_still(coords: Coords) -> bool:
    """Tell whether a place is that of the loop indices."""
    return all(coord == (OWN, 0) for coord in coords)


@classes.define
class Indices:
    """All index values of a program, each once; the first has number 1."""

    _known: dict[IndexValue, int] = classes.field(factory=dict)
    _values: list[IndexValue] = classes.field(factory=list)
    _mentions: list[Mapping[Dimension, tuple[int, int]]] = classes.field(factory=list)
    _depths: list[int] = classes.field(factory=list)
    _unsure: list[bool] = classes.field(factory=list)
    _entries: list[tuple[int, ...]] = classes.field(factory=list)

    def __getitem__(self, base: int) -> IndexValue:
        return self._values[base - 1]

    def add(self, value: IndexValue, dims: tuple[Dimension, ...] = (), skip: bool = False) -> int:
        """Return the number of an index value; `dims` are those of the node that is read for it."""
        number = self._known.get(value)
        if number is None:
            number = self._known[value] = len(self._values) + 1
            self._values.append(value)
            axes = _axes(value, dims)
            bases = [base for _, (base, _) in axes if base > OWN]
            self._mentions.append(self.mentioned(axes))
            own = not isinstance(value, Along)
            self._depths.append(own + max((self.depth(base) for base in bases), default=0))
            self._unsure.append(skip or isinstance(value, Moved) or any(map(self.unsure, bases)))
            inner = [entry for base in bases for entry in self.missing(base)]
            self._entries.append(tuple(dict.fromkeys([*inner, *[number] * skip])))
        return number

    def mentioned(self, axes: list[tuple[Dimension, Coord]]) -> dict[Dimension, tuple[int, int]]:
        """Return the loops that coordinates depend on, with the smallest and largest offset."""
        found: dict[Dimension, tuple[int, int]] = {}
        for dim, (base, offset) in axes:
            if base == OWN:
                grow(found, dim, (offset, offset))
            elif base > OWN:
                for other, ends in self._mentions[base - 1].items():
                    grow(found, other, ends)
        return found

    def plain(self, dim: Dimension, coord: Coord) -> tuple[Dimension, Coord]:
        """Return a coordinate as an offset to the loop of its dimension; None if it is another."""
        base, offset = coord
        value = self[base] if base > OWN else None
        return (value.dim, (OWN, offset)) if isinstance(value, Along) else (dim, coord)

    def is_here(self, coords: Coords) -> bool:
        """Tell whether a place is that of the loops, half an index away where it is staggered."""
        return all(
            coord == (OWN, 0) or (coord[0] > OWN and not self.depth(coord[0])) for coord in coords
        )

    def depth(self, base: int) -> int:
        """Return how many index values one depends on, itself included; 0 for loops."""
        return self._depths[base - 1] if base > OWN else 0

    def missing(self, base: int) -> tuple[int, ...]:
        """Return the table entries that an index depends on and that may be skip values."""
        return self._entries[base - 1] if base > OWN else ()

    def unsure(self, base: int) -> bool:
        """Tell whether an index may lie outside of what it indexes."""
        return base > OWN and self._unsure[base - 1]


def _axes(value: IndexValue, dims: tuple[Dimension, ...]) -> list[tuple[Dimension, Coord]]:
    """Return the coordinates that an index value depends on."""
    match value:
        case Entry(point=(_, coords)):
            return list(zip(dims, coords, strict=True))
        case Moved(dim=dim, at=at, by=(_, coords)):
            return [*zip(dims, coords, strict=True), (dim, at)]
        case Along(dim=dim):
            return [(dim, (OWN, 0))]
        case Level():
            return []


def grow(ends: dict[Dimension, tuple[int, int]], dim: Dimension, more: tuple[int, int]) -> None:
    """Grow the range of one dimension."""
    low, high = ends.get(dim, more)
    ends[dim] = min(low, more[0]), max(high, more[1])
