"""Contributions to an adjoint: rows that hold on a box, and where a condition says so.

Partial derivatives are read only where the forward reads them: outside of the box of a value, and
on the side of a `where` that is not taken, its operands may lie outside of fields or be NaN. So a
product with a partial waits with its box and its condition, and becomes
`region [box] select(need, product, 0) 0` when it meets other contributions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from math import inf
from typing import Final

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir.dataflow import Bound, Map, Ref, Shift, Side, add, difference
from ..lower import regions
from ..lower.regions import Box
from .rows import Rows

MOST_BOXES: Final = 9  # of a cover, two crosses one after the other: schedules grow fast with them


@classes.frozen
class Part:
    """A contribution.

    Attributes:
        row: its values.
        box: where they hold; None if everywhere, and 0 where nothing contributes.
        need: a row of bools, on the box, where the forward takes the value; None for everywhere.
        is_zero: whether the row is 0 already where nothing needs it.
        is_negative: whether the contribution is minus the row. A sign costs nothing that way, and a
            flux that leaves one point and enters another is one row.
        cover: boxes that hold all points where something contributes; None if they are unknown or
            many. Their hull may hold points at which the forward reads nothing, such as the corners
            of a cross.

    """

    row: Ref
    box: Box | None = None
    need: Ref | None = None
    is_zero: bool = False
    is_negative: bool = False
    cover: tuple[Box, ...] | None = None


def plain(rows: Rows, part: Part) -> Ref:
    """Return the row of a contribution with its sign."""
    return rows.apply("neg", part.row) if part.is_negative else part.row


def unsigned(rows: Rows, part: Part) -> Part:
    """Return a contribution whose sign is not in its row; products hand theirs on."""
    value = rows.graph[part.row]
    if not isinstance(value, Map) or value.op not in ("neg", "mul"):
        return part
    bare = tuple(_without_sign(rows, each) for each in value.args)
    is_negative = part.is_negative != (value.op == "neg")
    for one, other in zip(bare, value.args, strict=True):
        is_negative ^= one != other
    row = bare[0] if value.op == "neg" else rows.apply("mul", *bare)
    return classes.evolve(part, row=row, is_negative=is_negative)


def _without_sign(rows: Rows, row: Ref) -> Ref:
    value = rows.graph[row]
    return value.args[0] if isinstance(value, Map) and value.op == "neg" else row


def extended(rows: Rows, part: Part) -> Ref:
    """Return a contribution as a row that is 0 where it does not hold."""
    return plain(rows, everywhere(rows, part))


def everywhere(rows: Rows, part: Part) -> Part:
    """Return a contribution whose row is 0 where it does not hold."""
    row, zero = part.row, rows.number(0.0, part.row)
    if part.need is not None and not part.is_zero:
        row = rows.apply("select", part.need, row, zero)
    if part.box is not None:
        row = rows.graph.region((part.box,), row, zero)
    cover = part.cover if part.box is None else (part.box,)
    return Part(row, None, needed(rows, part), True, part.is_negative, cover)


def total(rows: Rows, parts: Sequence[Part]) -> Part:
    """Add contributions in their order; those that hold at the same points stay as they are."""
    first = parts[0]
    if all((each.box, each.need) == (first.box, first.need) for each in parts):
        is_zero = all(each.is_zero for each in parts)
        row, is_negative = _sum(rows, parts)
        cover = _all_covers(parts)
        return classes.evolve(first, row=row, is_zero=is_zero, is_negative=is_negative, cover=cover)
    boxes = [each.box for each in parts if each.box is not None]
    held = next((box for box in boxes if all(_holds(box, each.box) for each in parts)), None)
    if held is not None:
        parts = [_besides(each, held) for each in parts]
    spread = [everywhere(rows, each) for each in parts]
    row, is_negative = _sum(rows, spread)
    return Part(row, held, _any(rows, parts), True, is_negative, _all_covers(spread))


def _holds(box: Box, other: Box | None) -> bool:
    """Tell whether a box is known to hold another one."""
    return other is not None and regions.met(box, other) == other


def _besides(part: Part, box: Box) -> Part:
    """Return a contribution inside a box that holds its own, with the sides that are its own."""
    sides = tuple(side for side in part.box or () if side not in box)
    return classes.evolve(part, box=sides or None)


def _all_covers(parts: Sequence[Part]) -> tuple[Box, ...] | None:
    covers = [each.cover for each in parts if each.cover is not None]
    boxes = tuple(dict.fromkeys(chain(*covers)))
    return boxes if len(covers) == len(parts) and len(boxes) <= MOST_BOXES else None


def _sum(rows: Rows, parts: Sequence[Part]) -> tuple[Ref, bool]:
    """Return the sum of some rows with their signs, from left to right, and its own sign."""
    total, is_negative = parts[0].row, parts[0].is_negative
    for each in parts[1:]:
        if each.is_negative == is_negative:
            total = rows.apply("add", total, each.row)
        elif is_negative:
            total, is_negative = rows.apply("sub", each.row, total), False
        else:
            total = rows.apply("sub", total, each.row)
    return total, is_negative


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

    box, cover = part.box, part.cover
    if box is not None:
        box = _moved(box, value)
    if cover is not None:
        cover = tuple(_moved(each, value) for each in cover)
    need = None if part.need is None else moved(part.need)
    return classes.evolve(part, row=moved(part.row), box=box, need=need, cover=cover)


def _moved(box: Box, value: Shift) -> Box:
    return tuple(_side_further(side, value) if side.dim is value.onto else side for side in box)


def _side_further(side: Side, value: Shift) -> Side:
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


def covered(rows: Rows, part: Part, dims: Collection[Dimension]) -> Part:
    """Return a contribution of a value with these dimensions, needed in its cover alone.

    Between the boxes of the cover a partial derivative may be infinite: its product with 0 is NaN.
    """
    boxes = [tuple(side for side in box if side.dim in dims) for box in part.cover or ()]
    if part.box is not None or len(boxes) < 2 or _adjoin(boxes):
        return part
    yes, found = (rows.graph.literal("bool", text) for text in ("True", "False"))
    for box in boxes:
        found = rows.graph.region((box,), yes, found)
    return also(rows, part, found)


def _adjoin(boxes: Sequence[Box]) -> bool:
    """Tell whether boxes differ along one dimension only, and leave no index out there."""
    if len({tuple(side.dim for side in box) for box in boxes}) > 1:
        return False
    along = {n for box in boxes for n, side in enumerate(box) if side != boxes[0][n]}
    if len(along) != 1:
        return not along
    sides = [box[n] for box in boxes for n in along]
    found, apart = sides[:1], sides[1:]
    while near := [side for side in apart if any(_touch(side, each) for each in found)]:
        found, apart = near, [side for side in apart if side not in near]
    return not apart


def _touch(one: Side, other: Side) -> bool:
    """Tell whether no index lies between two ranges that are not empty."""
    ends = (one.start, other.stop), (other.start, one.stop)
    if all(start is None or stop is None or _beyond(start, stop) <= 0 for start, stop in ends):
        return True
    if one.start is None or other.start is None:
        return False
    return abs(_beyond(one.start, other.start)) <= 1


def _beyond(one: Bound, other: Bound) -> float:
    """Return how far a bound lies beyond another one; infinity where only the call knows."""
    found = difference(one, other)
    return inf if found is None else found
