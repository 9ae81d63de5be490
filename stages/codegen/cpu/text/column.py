"""Write imperative columns as C++: each thread runs the acts of one column after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import attrs

from ....ir.loops.column import Act, Column, If, Sweep, While
from ....ir.loops.traverse import instructions
from ...rows.body import NAMELESS, Body, line, operand
from ...rows.checks import tests_of
from ...rows.expressions import TYPES
from ...rows.scope import Scope
from .threads import END, extents, flat_loops, guard, opened


def write_column(scope: Scope, column: Column) -> Iterator[str]:
    """Write the loops of columns and close the block that they stand in."""
    rows = tuple(instructions(column))
    positions = {loop.range.dim: f"i{level}" for level, loop in enumerate(column.loops)}
    depth = len(column.loops)
    body = Body(scope, column.group, rows, depth, None, {**scope.around, **positions}, {})
    yield f"  if ({guard(scope, scope.kernel.groups[column.group].box)}) {{"
    is_shared = any(loop.kind != "sequential" for loop in column.loops)
    if is_shared:
        counts, iterations = extents(scope, column.loops)
        yield from (f"  {each}" for each in counts)
        yield opened(scope, column.box, iterations)
        yield from (f"    {each}" for each in flat_loops(scope, column.loops))
    else:
        for level, loop in enumerate(column.loops):
            yield f"    {_loop(scope, Sweep(loop.range, (), loop.backward), f'i{level}')}"
    tests = tests_of(scope, column.group, rows)
    yield from tests.begin("      ")
    for number, dtype in enumerate(column.registers):
        yield f"      {TYPES[dtype][0]} g{number} = 0;"
    yield from (f"      {each}" for each in _acts(body, column.acts, count()))
    yield from tests.end("      ")
    yield f"  }}{END}}}}}" if is_shared else "  " + "}" * (len(column.loops) + 2)


def _acts(body: Body, acts: Sequence[Act], numbers: Iterator[int]) -> Iterator[str]:
    """Write acts; `numbers` are those of rows, in the order of the text."""
    for act in acts:
        match act:
            case Sweep(range=range_):
                index = f"i{len(body.positions)}"
                inner = attrs.evolve(body, positions={**body.positions, range_.dim: index})
                yield _loop(body.scope, act, index)
                yield from _inside(inner, act.acts, numbers)
            case If(row=row, then=then, otherwise=otherwise):
                yield f"if ({operand(body, row)}) {{"
                yield from _inside(body, then, numbers, "} else {" if otherwise else "}")
                if otherwise:
                    yield from _inside(body, otherwise, numbers)
            case While(condition=condition, row=row, acts=inner_acts):
                yield "for (;;) {"
                yield from _inside(body, condition, numbers, f"  if (!{operand(body, row)}) break;")
                yield from _inside(body, inner_acts, numbers)
            case _:
                number = next(numbers)
                if not isinstance(act, NAMELESS):
                    yield line(body, number)


def _inside(
    body: Body, acts: Sequence[Act], numbers: Iterator[int], closing: str = "}"
) -> Iterator[str]:
    yield from (f"  {each}" for each in _acts(body, acts, numbers))
    yield closing


def _loop(scope: Scope, sweep: Sweep, index: str) -> str:
    start, stop = scope.ends(sweep.range)
    if sweep.backward:
        return f"for (s64 {index} = {stop} - 1; {index} >= {start}; --{index}) {{"
    return f"for (s64 {index} = {start}; {index} < {stop}; ++{index}) {{"
