"""The usual conditions of rows in the text of strips: tests, where they hold, what they change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .....runtime.process import classes
from ....ir.loops import (
    Compute,
    Instruction,
    Load,
    Nest,
    Row,
    Store,
    axis_along,
    marks_of,
)
from ...rows import NAMELESS, Body, folded, line, name, operand, value_of
from ...schedule.usual import is_lower
from ..passes.unswitching import conditions_of


def is_tested_before(body: Body, nest: Nest) -> bool:
    """Tell whether the test stands before the strips of a row: there it has many parts."""
    return bool(marks_of(nest).usual) and body.scope.options.many_outputs


def row_test(body: Body, nest: Nest) -> str:
    """Return the test that a row has the usual conditions outside its loop."""
    usual = (each for each in marks_of(nest).usual if body.rows[each[0]].level < body.depth)
    return " && ".join(f"{'' if value else '!'}{name(body, row)}" for row, value in usual)


def run_of(body: Body, nest: Nest, stop: str) -> tuple[str, str] | None:
    """Return where the points of a row begin and end that have the usual conditions.

    None where all points of a row have them, or none has.
    """
    sides: tuple[list[str], list[str]] = ([], [stop])
    for row, value in marks_of(nest).usual:
        test = body.rows[row]
        if test.level == body.depth and isinstance(test, Compute):
            sides[not is_lower(test, value=value)].append(operand(body, test.args[1]))
    if sides == ([], [stop]):
        return None
    first, last = map(folded, ("later({}, {})", "earlier({}, {})"), sides)
    return f"usually ? {first or 'b'} : {stop}", last


def changed_rows(body: Body, nest: Nest) -> list[Row]:
    """Return the rows around the innermost loop whose values the usual conditions change.

    A strip that is tested before takes all its conditions: from members of a function that was
    handed on, compilers make no masks.
    """
    if is_tested_before(body, nest):
        rows = (row for row in nest.body if row.level == body.depth)
        taken = {each for row in rows for each in conditions_of(nest, row)}
        return sorted(each for each in taken if not isinstance(nest.body[each], NAMELESS))
    changed = {row for row, _ in marks_of(nest).usual}
    for number, row in enumerate(body.rows):
        if row.level < body.depth and not changed.isdisjoint(row.operands):
            changed.add(number)
    return sorted(changed)


def lifted(body: Body, lanes: int) -> tuple[list[str], Body]:
    """Return what is the same at all points of a strip, as lines before its loop, and the rest.

    That is what tables tell, where no condition of the point is left. Compilers make no vectors
    where one condition holds for all lanes: so a condition is one of each lane.
    """
    rows, moved, tests = list(body.rows), list[Row](), list[Row]()
    for number, row in enumerate(rows):
        if row.level == body.depth > 1 and number not in body.instead and _stays(rows, row, body):
            (tests if row.dtype == "bool" else moved).append(number)
            rows[number] = classes.evolve(row, level=body.depth - (row.dtype != "bool"))
    body = classes.evolve(body, rows=tuple(rows))
    each = {n: f"const b8 {name(body, n)} = b8({value_of(body, n)} & (l < all));" for n in tests}
    lines = [line(body, number) for number in moved]
    lines += [f's64 all = {lanes}; asm("" : "+r"(all));'] * bool(tests)
    return lines, classes.evolve(body, instead={**body.instead, **each})


def _stays(rows: Sequence[Instruction], row: Instruction, body: Body) -> bool:
    """Tell whether a row of the innermost loop is the same at all of its points."""
    if any(rows[each].level == body.depth for each in row.operands):
        return False
    return isinstance(row, Compute) or (
        isinstance(row, Load)
        and axis_along(rows, row, body.scope.by_name[row.buffer], body.inner) is None
        and not any(isinstance(each, Store) and each.buffer == row.buffer for each in rows)
    )


def usual_values(body: Body, nest: Nest) -> Iterator[str]:
    """Write the rows that the usual conditions change again, as these conditions make them."""
    values = dict(marks_of(nest).usual)
    for row in changed_rows(body, nest):
        if row in values:
            yield f"const b8 {name(body, row)} = {str(values[row]).lower()};"
        else:
            yield line(body, row)
