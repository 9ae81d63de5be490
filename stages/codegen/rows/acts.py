"""Write the acts of an imperative column as C++."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from ....runtime.process import classes
from ...ir.loops import Act, Column, If, Sweep, While, instructions
from .body import NAMELESS, Body, line, operand
from .expressions import TYPES
from .scope import Scope


def write_acts(scope: Scope, column: Column) -> Iterator[str]:
    """Write what one column does; its indices are `i0`, `i1`, ..."""
    yield from write_registers(column)
    yield from acts_of(body_of_column(scope, column), column.acts, count())


def write_registers(column: Column) -> Iterator[str]:
    """Define the registers of a column."""
    yield from (f"{TYPES[dtype][0]} g{n} = 0;" for n, dtype in enumerate(column.registers))


def body_of_column(scope: Scope, column: Column) -> Body:
    """Return the rows of a column; its indices are `i0`, `i1`, ..."""
    dims = [loop.range.dim for loop in column.loops]
    positions = {dim: f"i{level}" for level, dim in enumerate(dims)}
    rows = tuple(instructions(column))
    return Body(scope, column.group, rows, len(dims), None, {**scope.around, **positions}, {})


def acts_of(
    body: Body, acts: Sequence[Act], numbers: Iterator[int], ends: str = "!{}"
) -> Iterator[str]:
    """Write acts; `numbers` are those of rows, in the order of the text.

    A loop ends where `ends` says so of its condition.
    """

    def inside(acts: Sequence[Act], closing: str = "}", body: Body = body) -> Iterator[str]:
        yield from (f"  {each}" for each in acts_of(body, acts, numbers, ends))
        yield closing

    for act in acts:
        match act:
            case Sweep(range=range_):
                index = f"i{len(body.positions)}"
                inner = classes.evolve(body, positions={**body.positions, range_.dim: index})
                yield from (
                    loop_over(index, body.scope.ends(range_), backward=act.backward),
                    *inside(act.acts, body=inner),
                )
            case If(row=row, then=then, otherwise=otherwise):
                yield from (
                    f"if ({operand(body, row)}) {{",
                    *inside(then, "} else {" if otherwise else "}"),
                    *(inside(otherwise) if otherwise else ()),
                )
            case While(condition=condition, row=row, acts=inner_acts):
                yield from (
                    "for (;;) {",
                    *inside(condition, f"  if ({ends.format(operand(body, row))}) break;"),
                    *inside(inner_acts),
                )
            case _:
                number = next(numbers)
                if not isinstance(act, NAMELESS):
                    yield line(body, number)


def loop_over(index: str, ends: tuple[str, str], step: int = 1, *, backward: bool = False) -> str:
    """Open a loop over the indices of a range."""
    start, stop = ends
    if backward:
        return f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
    ahead = f"{index} += {step}" if step > 1 else f"++{index}"
    return f"for (s64 {index} = {start}; {index} < {stop}; {ahead}) {{"
