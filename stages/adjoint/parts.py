"""Contributions to an adjoint: rows that hold on a box, and where a condition says so.

Partial derivatives are read only where the forward reads them: outside of the box of a value, and
on the side of a `where` that is not taken, its operands may lie outside of fields or be NaN. So a
product with a partial waits with its box and its condition, and becomes
`region [box] select(need, product, 0) 0` when it meets other contributions.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...runtime.process import classes
from ..ir.bounds import add
from ..ir.dataflow import Ref, Shift, Side
from ..lower import regions
from ..lower.regions import Box
from .rows import Rows


@classes.frozen
class Part:
    """A contribution.

    Attributes:
        row: its values.
        box: where they hold; None if everywhere, and 0 where nothing contributes.
        need: a row of bools, on the box, where the forward takes the value; None for everywhere.
        is_zero: whether the row is 0 already where nothing needs it.

    """

    row: Ref
    box: Box | None = None
    need: Ref | None = None
    is_zero: bool = False


def extended(rows: Rows, part: Part) -> Ref:
    """Return a contribution as a row that is 0 where it does not hold."""
    row, zero = part.row, rows.number(0.0, part.row)
    if part.need is not None and not part.is_zero:
        row = rows.apply("select", part.need, row, zero)
    return row if part.box is None else rows.graph.region((part.box,), row, zero)


def total(rows: Rows, parts: Sequence[Part]) -> Part:
    """Add contributions in their order; those that hold at the same points stay as they are."""
    first = parts[0]
    if all((each.box, each.need) == (first.box, first.need) for each in parts):
        is_zero = all(each.is_zero for each in parts)
        return classes.evolve(first, row=rows.sum([each.row for each in parts]), is_zero=is_zero)
    row = rows.sum([extended(rows, each) for each in parts])
    return Part(row, None, _any(rows, parts), is_zero=True)


def _any(rows: Rows, parts: Sequence[Part]) -> Ref | None:
    """Return where some contribution is needed; None if one is needed everywhere."""
    found: Ref | None = None
    for each in parts:
        need = needed(rows, each)
        if need is None:
            return None
        found = need if found is None else rows.apply("or", found, need)
    return found


def needed(rows: Rows, part: Part) -> Ref | None:
    """Return the condition of a contribution as a row that is false outside of its box."""
    if part.need is None or part.box is None:
        return part.need
    return rows.graph.region((part.box,), part.need, rows.graph.literal("bool", "False"))


def shifted(rows: Rows, part: Part, value: Shift) -> Part:
    """Return a contribution where the operand of a shift stands."""
    graph, offset = rows.graph, value.offset

    def moved(row: Ref) -> Ref:
        return graph.shift(row, value.onto, -offset, value.dim)

    box = part.box
    if box is not None:
        box = tuple(_moved(side, value) if side.dim is value.onto else side for side in box)
    need = None if part.need is None else moved(part.need)
    return Part(moved(part.row), box, need, part.is_zero)


def _moved(side: Side, value: Shift) -> Side:
    ends = (None if end is None else add(end, value.offset) for end in (side.start, side.stop))
    return Side(value.dim, *ends)


def narrowed(part: Part, box: Box) -> Part:
    """Return a contribution that holds on a box; without one so far, that is all of it."""
    return part if part.box is not None else classes.evolve(part, box=box)


def inside(part: Part, box: Box) -> Part:
    """Return the part of a contribution inside a box."""
    return classes.evolve(part, box=box if part.box is None else regions.met(part.box, box))


def also(rows: Rows, part: Part, need: Ref) -> Part:
    """Return a contribution that also needs a condition, which holds only where it is needed."""
    if part.need is not None:  # an 'and' would read the condition everywhere
        need = rows.apply("select", part.need, need, rows.graph.literal("bool", "False"))
    return classes.evolve(part, need=need, is_zero=False)
