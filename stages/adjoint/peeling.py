"""Peel stores: the interior, where contributions hold everywhere, apart from its rims.

    u_b = region [I: a .. b] x 0 + region [I: a + 1 .. b + 1] y 0

becomes `x + y` on `a + 1 .. b`, the sum as it is on both rims, and 0 beyond. Loops over the
interior test no index, and the rims are thin. Dimensions are peeled one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ...runtime.language.dimension import Dimension
from ...runtime.process import classes
from ..ir.bounds import add, greatest, least
from ..ir.dataflow import (
    Dataflow,
    Displace,
    Gather,
    Literal,
    Local,
    Neighbours,
    Reduce,
    Ref,
    Region,
    Scan,
    Shift,
    Side,
    Statement,
    Store,
    Value,
)
from ..lower.graph import Graph
from ..lower.rewrite import reachable, rebuilt

Reach: TypeAlias = dict[Dimension, tuple[int, int]]  # around the stored point, where it is known
Dims: TypeAlias = tuple[Dimension, ...]


def peel(program: Dataflow) -> Dataflow:
    """Divide each store of guarded sums into the interior, rims and zeros."""
    peeler = _Peeler(program)
    statements = tuple(
        Statement(tuple(map(peeler.store, each.stores))) for each in program.statements
    )
    return classes.evolve(program, values=tuple(peeler.graph.values), statements=statements)


@classes.define(eq=False)
class _Peeler:
    program: Dataflow
    graph: Graph = classes.field(factory=Graph)

    def __attrs_post_init__(self) -> None:
        for value in self.program.values:
            self.graph.add(value)

    def store(self, store: Store) -> Store:
        """Return a store with a choice of boxes as its value, if it has guards."""
        reaches = self._reaches(store.value)
        ends = dict(self._ends(reaches))
        if not ends:
            return store
        # a dimension along which all guards agree comes first: outside is 0
        order = sorted(ends, key=lambda dim: (not ends[dim].agree, self._place(store, dim)))
        return classes.evolve(store, value=self._nested(store.value, order, (), ends, reaches))

    def _place(self, store: Store, dim: Dimension) -> int:
        return [each.dim for each in store.box].index(dim)

    def _reaches(self, root: Ref) -> dict[Ref, Reach]:
        """Return how far around the stored point each row is read, in guards on their box only."""
        values = self.program.values
        rows = reachable(values, [root])
        found: dict[Ref, Reach | None] = dict.fromkeys(rows)
        found[root] = dict.fromkeys(values[root].dims, (0, 0))
        for row in reversed(rows):
            reach = found[row]
            if reach is None:
                continue  # only beside guards
            for operand, asked in _asked(values, values[row], reach):
                known = found[operand]
                found[operand] = asked if known is None else _hull(known, asked)
        return {row: reach for row, reach in found.items() if reach is not None}

    def _ends(self, reaches: Mapping[Ref, Reach]) -> Iterator[tuple[Dimension, _Ends]]:
        inner: dict[Dimension, list[tuple[Side, tuple[int, int]]]] = {}
        for row, reach in reaches.items():
            for side in _guard(self.program.values, row):
                if side.dim in reach:
                    inner.setdefault(side.dim, []).append((side, reach[side.dim]))
        for dim, sides in inner.items():
            if any(side.start is None or side.stop is None for side, _ in sides):
                continue
            starts = [(add(s.start, -lo), add(s.start, -hi)) for s, (lo, hi) in sides if s.start]
            stops = [(add(s.stop, -hi), add(s.stop, -lo)) for s, (lo, hi) in sides if s.stop]
            yield (
                dim,
                _Ends(
                    Side(dim, greatest(a for a, _ in starts), least(a for a, _ in stops)),
                    Side(dim, least(b for _, b in starts), greatest(b for _, b in stops)),
                ),
            )

    def _nested(
        self,
        root: Ref,
        left: list[Dimension],
        done: Dims,
        ends: Mapping[Dimension, _Ends],
        reaches: Mapping[Ref, Reach],
    ) -> Ref:
        if not left:
            return self._resolved(root, done, reaches)
        dim, *rest = left
        inside = self._nested(root, rest, (*done, dim), ends, reaches)
        value = self.graph[root]
        zero = self.graph.literal(value.dtype, "0.0")
        known = ends[dim]
        if known.agree:
            return self.graph.region(((known.inner,),), inside, zero)
        around = self._nested(root, rest, done, ends, reaches)
        rim = self.graph.region(((known.inner,),), inside, around)
        return self.graph.region(((known.outer,),), rim, zero)

    def _resolved(self, root: Ref, done: Dims, reaches: Mapping[Ref, Reach]) -> Ref:
        """Return a value without the sides of guards along some dimensions."""
        values = self.program.values
        tables = {table.name: table for table in self.program.tables}
        rows: dict[Ref, Ref] = {}
        for row in reachable(values, [root]):
            value = values[row]
            sides = _guard(values, row)
            if sides and row in reaches and isinstance(value, Region):
                kept = tuple(s for s in sides if s.dim not in done or s.dim not in reaches[row])
                then, otherwise = rows[value.then], rows[value.otherwise]
                rows[row] = self.graph.region((kept,), then, otherwise) if kept else then
            else:
                rows[row] = rebuilt(self.graph, value, rows.__getitem__, tables)
        return rows[root]


@classes.frozen
class _Ends:
    """Along one dimension: where all guards hold, and outside of which none does."""

    inner: Side
    outer: Side

    @property
    def agree(self) -> bool:
        """Whether all guards hold at the same points."""
        return self.inner == self.outer


def _guard(values: tuple[Value, ...], row: Ref) -> tuple[Side, ...]:
    """Return the box of a guard, a region whose other branch is 0 or False; else nothing."""
    value = values[row]
    if not isinstance(value, Region) or len(value.boxes) != 1:
        return ()
    other = values[value.otherwise]
    is_zero = isinstance(other, Literal) and other.text in ("0.0", "False")
    return value.boxes[0] if is_zero else ()


def _asked(values: tuple[Value, ...], value: Value, reach: Reach) -> Iterator[tuple[Ref, Reach]]:
    """Yield the operands of a value, each with how far it is read where that is known."""
    lost: set[Dimension] = set()
    match value:
        case Shift():
            low, high = reach.get(value.onto, (0, 0))
            moved = {dim: ends for dim, ends in reach.items() if dim is not value.onto}
            if value.onto in reach:
                moved[value.dim] = (low + value.offset, high + value.offset)
            yield value.arg, moved
            return
        case Scan():
            lost = {value.axis}
        case Displace():
            lost = {value.dim}
        case Gather() | Neighbours() | Reduce() | Local():
            lost = set(value.dims) ^ set(values[value.arg].dims)
    kept = {dim: ends for dim, ends in reach.items() if dim not in lost}
    for operand in value.operands:
        yield operand, {dim: ends for dim, ends in kept.items() if dim in values[operand].dims}


def _hull(one: Reach, other: Reach) -> Reach:
    """Return how far both reach; a dimension that is unknown in one stays unknown."""
    return {
        dim: (min(one[dim][0], other[dim][0]), max(one[dim][1], other[dim][1]))
        for dim in one
        if dim in other
    }
