"""Write imperative columns side by side: each lane of a vector register has a column.

Threads share blocks of columns. A block walks the levels together, a strip of as many columns as a
register has lanes after the other, so that memory is read along rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, groupby

from .....runtime.process import classes
from ....ir.loops import Access, Column, Sweep, instructions
from ...acts.act_trees import below
from ...rows import Scope
from .column_blocks import BLOCK, ColumnBlock
from .lane_parts import LanePart
from .searches import gathers, write_one_by_one
from .threads import END, extents, flat_loops, guard, indented, opened


def acts_in_lanes(scope: Scope, column: Column) -> bool:
    """Tell whether columns lie side by side in memory, so that lanes read and write rows."""
    if scope.tests or not column.loops or any(each.kind != "parallel" for each in column.loops):
        return False
    inner = column.loops[-1].range.dim
    rows = [row for row in instructions(column) if isinstance(row, Access)]
    buffers = [scope.by_name[row.buffer] for row in rows]
    nested = any(
        isinstance(each, Sweep) and each is not act for act in column.acts for each in below([act])
    )
    return not nested and all(each.unit is inner for each in buffers if inner in each.dims)


def write_lanes(scope: Scope, column: Column) -> Iterator[str]:
    """Write the loops of columns and close the block that they stand in."""
    loops = (*column.loops[:-1], classes.evolve(column.loops[-1], step=BLOCK))
    counts, iterations = extents(scope, loops)
    stop = scope.bound(loops[-1].range.stop)
    yield from (
        f"  if ({guard(scope, scope.kernel.groups[column.group].box)}) {{",
        *indented(counts),
        opened(scope, column.box, iterations, sweeps=column.swept),
        *indented(flat_loops(scope, loops), "    "),
        f"      const s64 first = i{len(loops) - 1}, last = earlier(first + {BLOCK}, {stop});",
        *indented(_block(scope, column), "      "),
        f"  }}{END}}}}}",
    )


def _block(scope: Scope, column: Column) -> list[str]:
    """Write what a block of columns does, anew until nothing more is found that must be kept."""
    block = ColumnBlock.of(scope, column)
    while True:
        before = dict(block.kept), set(block.carried)
        lines = list(_groups(block, column))
        if before == (block.kept, block.carried):
            return [*block.arrays(), *lines]


def _groups(block: ColumnBlock, column: Column) -> Iterator[str]:
    """Write sweeps, and what stands between them."""
    if not any(isinstance(act, Sweep) for act in column.acts) and gathers(column.acts):
        yield from write_one_by_one(block, 0, column.acts, count())
        return
    numbers, place = count(), count()
    for is_sweep, together in groupby(column.acts, lambda act: isinstance(act, Sweep)):
        if not is_sweep:
            yield from LanePart(block, next(place), None).written(together, numbers)
            continue
        for act in together:
            assert isinstance(act, Sweep)  # they are grouped by it
            block.walk(act)
            if gathers(act.acts):
                yield from write_one_by_one(block, next(place), act.acts, numbers, act)
            else:
                yield from LanePart(block, next(place), act).written(act.acts, numbers)
