"""Write one loop nest, or one imperative column, as C++."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ....ir.bounds import Range
from ....ir.loops.column import Column
from ....ir.loops.cpu import marks_of
from ....ir.loops.nest import Nest
from ....ir.loops.traverse import instructions
from ...rows.acts import loop_over, write_acts
from ...rows.body import Body, body_of, pointers, states, written
from ...rows.checks import tests_of
from ...rows.scope import Scope
from .ahead import named_ahead
from .strips import SIMD, Strips, strips_of, write_strips
from .threads import (
    BLOCK,
    END,
    extents,
    flat_loops,
    guard,
    indented,
    marching_loop,
    opened,
)

Ends: TypeAlias = Callable[[Range], tuple[str, str]]  # start and stop of a loop over a range


def write_nest(scope: Scope, nest: Nest, in_tile: Ends | None = None) -> Iterator[str]:
    """Write the loops of a nest and close the block that it stands in.

    Inside of tiles, a nest runs over its part of a tile and one thread runs all of it.
    """
    box = () if in_tile else scope.kernel.groups[nest.group].box
    ends = in_tile or scope.ends
    if box:
        yield f"  if ({guard(scope, box)}) {{"
    body = body_of(scope, nest)
    yield from _around(scope, nest, body)
    flat = 0  # the number of outer loops that are collapsed into one and shared among threads
    if len(nest.loops) > 1 and nest.loops[0].kind != "sequential" and in_tile is None:
        shared = sum(loop.kind == "parallel" for loop in nest.loops)
        flat = max(1, min(shared, len(nest.loops) - 1))
        yield from _shared_loops(scope, nest, body, flat)
    for level, loop in enumerate(nest.loops):
        if level == len(nest.loops) - 1:
            alone = level == 0 and in_tile is None
            yield from innermost(scope, nest, body, ends, is_shared=alone)
        elif level >= flat:
            yield f"{'  ' * (level + 2)}{_loop(nest, level, ends(loop.range))}"
            yield from at(body, level + 1)
    inner = "}" * max(0, len(nest.loops) - 1 - flat)
    yield "  " + inner + ("}" + END if flat else "") + "}" * (bool(box) + 1)


def at(body: Body, level: int, part: int = 0) -> Iterator[str]:
    """Write the rows inside `level` loops with their indentation."""
    return indented(written(body, level, part), "  " * (level + 2))


def _around(scope: Scope, nest: Nest, body: Body) -> Iterator[str]:
    """Write the rows outside of all loops."""
    if nest.loops:
        yield from at(body, 0)
    else:
        tests = tests_of(scope, nest.group, nest.body)
        yield from (*tests.begin("    "), *at(body, 0), *tests.end("    "))


def _shared_loops(scope: Scope, nest: Nest, body: Body, flat: int) -> Iterator[str]:
    """Open the function that runs a part of the outer loops."""
    loops = nest.loops[:flat]
    counts, count = extents(scope, loops)
    yield from (*indented(counts), opened(scope, nest.box, count))
    lines = flat_loops(scope, loops)
    if march := marks_of(nest).march:
        lines = marching_loop(scope, loops, march, nest.loops[-1].range)
    yield from indented(lines, "    ")
    for level in range(flat):
        yield from at(body, level + 1)


def innermost(
    scope: Scope,
    nest: Nest,
    body: Body,
    ends: Ends,
    *,
    is_shared: bool = False,
    of_list: bool = False,
) -> Iterator[str]:
    """Write the innermost loop, part after part; threads share it if no loop is around it.

    Rows are prefetched for the next element of a list where the loop around is one `of_list`.
    """
    level = len(nest.loops) - 1
    loop, indent = nest.loops[level], "  " * (level + 2)
    yield from (indent + line for line in (*pointers(body), *states(body)))
    tests = tests_of(scope, nest.group, nest.body)
    yield from tests.begin(indent)
    strips: Strips | None = None
    if loop.kind == "vector":
        strips = strips_of(scope, nest, body)
        ahead = () if is_shared else named_ahead(strips.later, nest, of_list=of_list)
        yield from indented(ahead, indent)
    for part, range_ in enumerate(nest.parts or (loop.range,)):
        shares = is_shared and part == 0
        if strips is not None and not shares:
            yield from indented(write_strips(strips, ends(range_), part, tests.clause), indent)
        elif is_shared and loop.kind != "sequential":
            yield from _in_blocks(scope, nest, body, ends(range_), part)
        else:
            head = indent + _loop(nest, level, ends(range_))
            yield from (head, *at(body, level + 1, part), f"{indent}}}")
    yield from tests.end(indent)


def _in_blocks(
    scope: Scope, nest: Nest, body: Body, ends: tuple[str, str], part: int
) -> Iterator[str]:
    """Write a single loop, of which threads take blocks of points."""
    start, stop = ends
    tests = tests_of(scope, nest.group, nest.body)
    block = f"{start} + begin * {BLOCK}", f"earlier({stop}, {start} + end * {BLOCK})"
    yield from (
        opened(scope, nest.box, f"({stop} - {start} + {BLOCK - 1}) / {BLOCK}"),
        *tests.begin("    "),
        *([SIMD + tests.clause] if nest.loops[0].kind == "vector" else ()),
        f"    {_loop(nest, 0, block)}",
        *at(body, 1, part),
        "    }",
        *tests.end("    "),
        f"  {END}",
    )


def _loop(nest: Nest, level: int, ends: tuple[str, str]) -> str:
    loop = nest.loops[level]
    return loop_over(f"i{level}", ends, loop.step, backward=loop.backward)


# --- columns --------------------------------------------------------------------------------------


def write_column(scope: Scope, column: Column) -> Iterator[str]:
    """Write the loops of columns and close the block that they stand in.

    Each thread runs the acts of one column after the other.
    """
    yield f"  if ({guard(scope, scope.kernel.groups[column.group].box)}) {{"
    is_shared = any(loop.kind != "sequential" for loop in column.loops)
    if is_shared:
        counts, iterations = extents(scope, column.loops)
        yield from (
            *indented(counts),
            opened(scope, column.box, iterations),
            *indented(flat_loops(scope, column.loops), "    "),
        )
    else:
        for level, each in enumerate(column.loops):
            ends = scope.ends(each.range)
            yield f"    {loop_over(f'i{level}', ends, each.step, backward=each.backward)}"
    tests = tests_of(scope, column.group, instructions(column))
    yield from (
        *tests.begin("      "),
        *indented(write_acts(scope, column), "      "),
        *tests.end("      "),
        f"  }}{END}}}}}" if is_shared else "  " + "}" * (len(column.loops) + 2),
    )
