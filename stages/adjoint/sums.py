"""The adjoint of a value that lacks a dimension of its user: a sum along that dimension.

A sum is a scan whose last state is read: from the first index to the last, in float64. So it has
one order, whatever the threads. A range may be empty in a call. Then nothing needs the sum, and the
partial derivatives that would multiply its 0 are not read: they may be infinite, or lie outside of
fields.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...runtime.language import Dimension, DimensionKind
from ...runtime.process import classes
from ..ir.bounds import difference
from ..ir.dataflow import Body, Ref, Side, add, maximum
from ..lower.graph import Graph
from ..lower.regions import Box
from ..lower.scans import body_of
from .parts import Part
from .rows import Rows


def summed(rows: Rows, part: Part, dims: Iterable[Dimension]) -> Part:
    """Sum a contribution on its box along some dimensions, which the box bounds."""
    assert part.box is not None
    sides = {side.dim: side for side in part.box}
    row, need, dtype = part.row, part.need, rows.graph[part.row].dtype
    if need is not None and not part.is_zero:
        row = rows.apply("select", need, row, rows.number(0.0, row))
    count = None if need is None else _flag(rows, need, row)
    row = rows.cast(row, "float64")
    along = [
        sides.pop(dim)
        for dim in sorted(dims, key=lambda dim: dim.kind is not DimensionKind.VERTICAL)
    ]
    for side in along:
        row = _along(rows, row, side)
        count = None if count is None else _along(rows, count, side)
    if count is None:
        need = _none_is_empty(rows, along)
    else:
        need = rows.apply("ne", count, rows.number(0.0, count))
    box = tuple(side for side in part.box if side.dim in sides)
    return classes.evolve(part, row=rows.cast(row, dtype), box=box, need=need, is_zero=True)


def _none_is_empty(rows: Rows, sides: Iterable[Side]) -> Ref | None:
    """Return whether each range has an index, a bool without dimensions; None if all surely do."""
    graph, found = rows.graph, None
    for side in sides:
        start, stop = side.start, side.stop
        assert start is not None
        assert stop is not None
        if (difference(stop, start) or 0) > 0:
            continue
        yes, no = (graph.literal("bool", text) for text in ("True", "False"))
        here = graph.level(graph.region(((side,),), yes, no), side.dim, start)
        found = here if found is None else rows.apply("and", found, here)
    return found


def _flag(rows: Rows, need: Ref, like: Ref) -> Ref:
    return rows.apply("select", need, rows.number(1.0, like), rows.number(0.0, like))


def _along(rows: Rows, row: Ref, side: Side) -> Ref:
    """Sum a row along a dimension.

    The scan begins one index before the first with 0, so that it has a state where the range is
    empty.
    """
    graph, start, stop = rows.graph, side.start, side.stop
    assert start is not None
    assert stop is not None
    dtype = graph[row].dtype
    inside: Box = (side,)
    given = graph.region((inside,), row, rows.number(0.0, row))
    first = rows.literal(0.0, dtype)
    levels = add(start, -1), maximum(start, stop)
    (total,) = graph.scan(_adding(dtype), (first,), (given,), side.dim, forward=True, levels=levels)
    return graph.level(total, side.dim, add(levels[1], -1))


def _adding(dtype: str) -> Body:
    graph = Graph()
    state, more = graph.scalar("s0", dtype), graph.scalar("a0", dtype)
    return body_of(graph, (graph.map("add", (state, more), dtype),))
