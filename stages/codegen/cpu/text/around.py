"""Write what lies around the box of a row: inside of it, points need no masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .....runtime.process import classes
from ....ir.loops import Compute, Instruction, Load, Nest, Row, marks_of
from ...rows import Body, operand, written
from ...schedule.usual import settled
from .threads import indented


@classes.frozen
class Around:
    """The ends of the box, where it has any, and the rows outside of it in usual rows."""

    start: str | None
    stop: str | None
    body: Body


def around_of(body: Body, nest: Nest) -> Around | None:
    """Return what lies around the one box that the conditions on the index of a loop describe.

    There is none where points differ before and beyond it.
    """
    ends: dict[bool, dict[str, list[Row]]] = {True: {}, False: {}}
    for row, value in marks_of(nest).usual:
        test = nest.body[row]
        if test.level == body.depth and isinstance(test, Compute):
            is_first = (test.op == "ge") == value
            ends[is_first].setdefault(operand(body, test.args[1]), []).append(row)
    sides = [side for side in ends.values() if side]
    if not sides or any(len(side) > 1 for side in sides):
        return None
    found = {_outside(nest, rows) for side in sides for rows in side.values()}
    if len(found) != 1 or not (made := dict(found.pop())):
        return None
    start, stop = (next(iter(ends[is_first]), None) for is_first in (True, False))
    rows = tuple(made.get(number, row) for number, row in enumerate(nest.body))
    unused = dict.fromkeys(set(range(len(rows))) - made.keys(), "")
    body = classes.evolve(body, rows=rows, instead={**body.instead, **unused})
    return Around(start, stop, body)


def _outside(nest: Nest, failed: Sequence[Row]) -> tuple[tuple[Row, Instruction], ...]:
    """Return the rows that are left where some conditions fail; none if indices may be clamped."""
    known = {row: value != (row in failed) for row, value in marks_of(nest).usual}
    rows, used = settled(nest.body, known)
    loads = (row for each in used if isinstance(row := rows[each], Load))
    if any(load.when is not None or any(each is not None for each in load.rows) for load in loads):
        return ()
    return tuple((each, rows[each]) for each in sorted(used))


def outside(around: Around, start: str, stop: str, part: int) -> Iterator[str]:
    """Write the points outside of the box in a usual row, and let `b` and `end` be its ends."""
    body = around.body
    index = f"i{body.depth - 1}"
    first = f"earlier(later({start}, {around.start}), {stop})" if around.start else start
    last = f"later(b, earlier({stop}, {around.stop}))" if around.stop else stop
    yield from (
        "const auto outside = [=](s64 b, s64 end) INLINE {",
        f"  for (s64 {index} = b; {index} < end; ++{index}) {{",
        f'    asm("" : "+r"({index}));',  # few points: vectors would double the time of a build
        *indented(written(body, body.depth, part), "    "),
        "  }",
        "};",
        "if (usually) {",
        f"  b = {first}, end = {last};",
        f"  outside({start}, b);",
        f"  outside(end, {stop});",
        "}",
    )
