"""Write one loop nest, or one imperative column, as C++."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeAlias

from ....ir.loops import (
    ITEMSIZES,
    Column,
    Compute,
    Index,
    Load,
    Nest,
    Range,
    Row,
    Store,
    difference,
    instructions,
    marks_of,
)
from ...rows import Body, Scope, body_of, loop_over, pointers, states, tests_of, write_acts, written
from .elements import FEW, as_usual, usual_tests
from .simd import SIMD
from .streams import named_ahead
from .strips import Strips, strips_of, write_strips
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

THIN: Final = 4  # points of a part for which vectors are not worth their code
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
    both: Collection[Row] | None = None,
) -> Iterator[str]:
    """Write the innermost loop, part after part; threads share it if no loop is around it.

    In a function of elements, the rows of loads `both` are prefetched with and without `lists`.
    """
    level = len(nest.loops) - 1
    loop, indent = nest.loops[level], "  " * (level + 2)
    yield from (indent + line for line in (*pointers(body), *states(body)))
    tests = tests_of(scope, nest.group, nest.body)
    yield from tests.begin(indent)
    strips: Strips | None = None
    if loop.kind == "vector":
        strips = strips_of(scope, nest, body, both)
        of_list = both is not None
        ahead = () if is_shared else named_ahead(strips.later, nest, of_list=of_list)
        yield from indented(ahead, indent)
    rims = _rims(nest)
    for part, range_ in enumerate(nest.parts or (loop.range,)):
        shares = is_shared and set(range(part)) <= rims
        if strips is not None and not shares and part not in rims:
            yield from indented(write_strips(strips, ends(range_), part, tests.clause), indent)
        elif is_shared and loop.kind != "sequential" and part not in rims:
            yield from _in_blocks(scope, nest, body, ends(range_), part)
        else:
            head = indent + _loop(nest, level, ends(range_))
            yield from (head, *at(body, level + 1, part), f"{indent}}}")
    yield from tests.end(indent)


def _rims(nest: Nest) -> set[int]:
    """Return the parts of a loop with few points: plain loops, as no vector of points fits there.

    They have a known number of points, or compare the index of the loop to choose a branch.
    """
    index = {row for row, each in enumerate(nest.body) if isinstance(each, Index)}
    compared = {
        each.part
        for each in nest.body
        if isinstance(each, Compute)
        and each.op in ("ge", "lt")
        and each.level == len(nest.loops)
        and each.args[0] in index
    }
    counts = [difference(part.stop, part.start) for part in nest.parts]
    thin = {part for part, count in enumerate(counts) if count is not None and count <= THIN}
    return thin | compared if nest.parts else set()


def _in_blocks(
    scope: Scope, nest: Nest, body: Body, ends: tuple[str, str], part: int
) -> Iterator[str]:
    """Write a single loop, of which threads take blocks of points."""
    start, stop = ends
    tests = tests_of(scope, nest.group, nest.body)
    first, last = f"{start} + begin * {BLOCK}", f"earlier({stop}, {start} + end * {BLOCK})"
    simd = [_lanes(scope, nest) + tests.clause] if nest.loops[0].kind == "vector" else []
    yield opened(scope, nest.box, f"({stop} - {start} + {BLOCK - 1}) / {BLOCK}")
    yield from tests.begin("    ")
    if marks_of(nest).usual:
        usually = " && ".join(usual_tests(body, nest))
        yield from (
            f"    for (s64 b = {first}, last = {last}; b < last; b += {FEW}) {{",
            f"    if (b + {FEW} <= last && {usually}) {{",
            *simd,
            f"    {_loop(nest, 0, ('b', f'b + {FEW}'))}",
            *at(as_usual(body, nest), 1, part),
            "    }} else {",
            *simd,
            f"    {_loop(nest, 0, ('b', f'earlier(last, b + {FEW})'))}",
            *at(body, 1, part),
            "    }}}",
        )
    else:
        yield from (*simd, f"    {_loop(nest, 0, (first, last))}", *at(body, 1, part), "    }")
    yield from (*tests.end("    "), f"  {END}")


def _lanes(scope: Scope, nest: Nest) -> str:
    """Ask for vectors of one register where tables tell what to load.

    Compilers fill a register with indices, and take several for the elements that these tell: then
    the loads of a vector spill registers.
    """
    if not any(isinstance(row, Load) and row.is_told for row in nest.body):
        return SIMD
    touched = {row.buffer for row in nest.body if isinstance(row, Load | Store)}
    size = max(ITEMSIZES[each.dtype] for each in scope.kernel.buffers if each.name in touched)
    return f"{SIMD} simdlen({max(1, scope.options.vector_bytes // size)})"


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
            opened(scope, column.box, iterations, sweeps=column.swept),
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
