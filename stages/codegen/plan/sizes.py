"""The sizes of a call: ranges of fields, scalars, rows of tables, and how near neighbours lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final, Literal

from ....runtime.language import DimensionKind
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.loops import (
    Bound,
    DomainSymbol,
    Kernel,
    PatchBound,
    PatchOrder,
    Range,
    ScalarSymbol,
    Symbol,
    TableBound,
    evaluate,
    parts,
)
from ..schedule.discovery import TABLE

ENDS: Final = {"start": 0, "stop": 1}  # of a domain that a call passes
USUAL: Final = 128  # indices of a dimension, where nothing tells how many there are
# Calls of programs whose sizes nothing tells, by the points of a field; all weigh the same.
USUAL_POINTS: Final = (10_000, 300_000, 10_000_000)
USUAL_LEVELS: Final = 80
SIDES: Final = 3  # of an element in a mesh that has as many elements as a field points
UNTOLD: Final = 4  # entries of a row for elements that no table leads from: 3 or 6, if triangles
RIM: Final = 4.0  # rows at the rim of n neighbouring ones, over the root of n


@classes.frozen
class Table:
    """A neighbour table: its rows, of so `wide` entries, and the locality of its numbering.

    `sources` are the rows that there are to lead to. `distinct` are pairs: of so many rows in order
    the mean number of rows that they lead to. Without any the numbering is near: neighbours on the
    mesh have neighbouring numbers.
    """

    rows: int
    sources: int
    wide: int = 2
    distinct: tuple[tuple[int, float], ...] = ()

    def seen(self, window: float, slots: int, hops: int = 1) -> float:
        """Return how many rows several slots of neighbouring rows lead to.

        >>> near = Table(3000, 1000)
        >>> round(near.seen(32, 2)), round(near.seen(3000, 2)), near.seen(1, 2)
        (24, 1000, 2)
        """
        most = min(window * slots, self.sources)
        if not self.distinct:
            area = window * self.sources / max(self.rows, 1)
            return min(most, area + hops * RIM * sqrt(area))
        # between two measured numbers, by the ratio of the nearest smaller one
        size, count = next(
            (pair for pair in reversed(self.distinct) if pair[0] <= window), self.distinct[0]
        )
        return min(most, hops * (count * window / size))


@classes.frozen
class Sizes:
    """What is known of a call; a dimension by its name.

    Attributes:
        ranges: start and stop of each field along each dimension.
        scalars: integers among the arguments.
        tables: by name.
        threads: how many threads share the loops.
        stream_from: bytes of a call from which stores go past the caches; None where the machine
            tells.

    """

    ranges: Mapping[tuple[str, str], tuple[int, int]] = classes.field(factory=dict)
    scalars: Mapping[str, int] = classes.field(factory=dict)
    tables: Mapping[str, Table] = classes.field(factory=dict)
    threads: int = 1
    stream_from: int | None = None
    _values: dict[Bound, int] = classes.field(factory=dict, init=False, eq=False, repr=False)

    def value(self, bound: Bound) -> int:
        """Return the value of a bound.

        >>> from fieldforge.stages.ir.bounds import ScalarSymbol, add
        >>> Sizes(scalars={"n": 5}).value(add(ScalarSymbol("n"), 2))
        7
        """
        found = self._values.get(bound)
        return evaluate(bound, self._of, self._values) if found is None else found

    def extent(self, range_: Range) -> int:
        """Return how many indices a range has."""
        return max(0, self.value(range_.stop) - self.value(range_.start))

    def _of(self, symbol: Symbol) -> int:
        match symbol:
            case DomainSymbol(end=end, field=field, dim=dim):
                return self.ranges.get((field, dim.value), (0, USUAL))[end == "stop"]
            case ScalarSymbol(name=name):
                return self.scalars.get(name, USUAL)
            case TableBound(end=end, table=table):
                return self.tables[table].sources if end == "beyond" and table in self.tables else 0
            case PatchBound(number=number, order=order):
                return self._of_lists(number, order)
        raise TypeError(f"A call has no value for '{symbol}'.")

    def _of_lists(self, number: str, order: PatchOrder) -> int:
        """Return a number of the lists of patches: an inspector makes them of near tables."""
        if any(table not in self.tables for table in order.tables):
            return 0
        rows = max((table.rows for table in self.tables.values()), default=0)
        kept = sum(each.row_bytes for each in order.members)
        held = (order.portion or order.size) + RIM * sqrt(order.size)
        given = {"address": 1, "patches": -(-rows // order.size), "size": order.size}
        return given.get(number, int(kept * held))


def alike(
    kernel: Kernel,
    extents: Mapping[str, int],
    tables: Mapping[str, Table] | None = None,
    known: Mapping[tuple[str, str], tuple[int, int]] | None = None,
) -> Sizes:
    """Return sizes in which all fields have the same extents by dimension, but for `known` ranges.

    The bounds of a call with `domain=` are those extents too, and so are scalars at which stores
    begin or end; tables are near if not given.
    """
    ranges = {
        (buffer.name, dim.value): (0, extents[dim.value])
        for buffer in kernel.buffers
        if buffer.memory == "field"
        for dim in buffer.dims
        if dim.value in extents
    } | dict(known or {})
    scalars = {
        **_bounds(kernel, "start", dict.fromkeys(extents, 0)),
        **_bounds(kernel, "stop", extents),
        **{
            name: extents[dim] * ENDS[end]
            for name, *_ in kernel.scalars
            for dim, end in [f"..{name}".split(".")[-2:]]
            if end in ENDS and dim in extents
        },
    }
    rows = max((stop - start for start, stop in ranges.values()), default=0)
    near = {
        buffer.name.removeprefix(TABLE): Table(rows, rows)
        for buffer in kernel.buffers
        if buffer.memory == "table"
    }
    return Sizes(ranges, scalars, {**near, **(tables or {})})


def _bounds(
    kernel: Kernel, end: Literal["start", "stop"], extents: Mapping[str, int]
) -> dict[str, int]:
    """Return the scalars at one end of what is stored, with the extents of their dimensions."""
    return {
        part.name: extents[range_.dim.value]
        for group in kernel.groups
        for range_ in group.box
        if range_.dim.value in extents
        for part in parts(range_.start if end == "start" else range_.stop)
        if isinstance(part, ScalarSymbol)
    }


def usual(
    kernel: Kernel,
    known: Mapping[tuple[str, str], tuple[int, int]],
    tables: Sequence[dataflow.Table] = (),
) -> tuple[Sizes, ...]:
    """Return the sizes of usual calls; a single one where the ranges of all fields are known."""
    fields = [buffer for buffer in kernel.buffers if buffer.memory == "field"]
    dims = {dim.value: dim for buffer in fields for dim in buffer.dims}
    shares = _shares(tables)
    if all((buffer.name, dim.value) in known for buffer in fields for dim in buffer.dims):
        extents = {dim: stop for (_, dim), (_, stop) in known.items()}
        counts = [
            (stop - start) / shares[dim]
            for (_, dim), (start, stop) in known.items()
            if dim in shares
        ]
        return (alike(kernel, extents, _near(tables, shares, max(counts, default=0)), known),)
    is_flat = {name: dim.kind is DimensionKind.HORIZONTAL for name, dim in dims.items()}
    across = max(sum(is_flat[dim.value] for dim in buffer.dims) for buffer in fields)
    levels = 1 if all(is_flat.values()) else USUAL_LEVELS
    sides = [max(1, round((points / levels) ** (1 / max(across, 1)))) for points in USUAL_POINTS]
    return tuple(
        alike(
            kernel,
            {n: round(side * shares.get(n, 1.0)) if is_flat[n] else levels for n in dims},
            _near(tables, shares, side),
            known,
        )
        for side in sides
    )


def _near(
    tables: Sequence[dataflow.Table], shares: Mapping[str, float], count: float
) -> dict[str, Table]:
    """Return near tables of a mesh with `count` elements of three sides."""
    return {
        each.name: Table(
            round(count * shares[each.target.value]),
            round(count * shares[each.source.value]),
            each.width,
        )
        for each in tables
        if each.source.value in shares
    }


def _shares(tables: Sequence[dataflow.Table]) -> dict[str, float]:
    """Return how many elements the locations of a mesh have, beside those with three sides.

    All elements together have as many sides as all edges have ends, whatever the location, so the
    entries of a row tell how many rows there are: of triangles, 3 edges for 2 cells and 1 vertex.
    """
    told = [each for each in tables if each.source is not each.local]
    widths = {dim.value: UNTOLD for each in told for dim in (each.source, each.target)}
    for each in sorted(
        told, key=lambda each: (each.source is each.target, each.width), reverse=True
    ):
        widths[each.target.value] = each.width
    return {name: SIDES / width for name, width in widths.items()}
