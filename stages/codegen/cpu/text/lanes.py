"""Write imperative columns side by side: each lane of a vector register has a column.

Threads share blocks of columns. A block walks the levels together, a strip of as many columns as a
register has lanes after the other, so that memory is read along rows. Where most loads have indices
of their own, lanes gain nothing, and a strip is one column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, groupby
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    LINE,
    Access,
    Act,
    Column,
    Compute,
    Get,
    If,
    Load,
    Set,
    Sweep,
    While,
    instructions,
)
from ...acts.act_trees import below, rows_of
from ...acts.free_levels import read_first
from ...rows import DIRECT, TYPES, Body, Scope, acts_of, element, loop_over, with_alike_fields
from ...schedule.costs import row_cost
from .column_blocks import BLOCK, ColumnBlock
from .lane_parts import LanePart
from .threads import END, extents, flat_loops, guard, indented, opened, points


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


GATHER: Final = 16  # additions that a load at indices of its own in each lane takes
AHEAD: Final = 3  # levels from a prefetch to the load


def gathers(acts: Iterable[Act]) -> bool:
    """Tell whether lanes would rather wait for loads at indices of their own than compute."""
    rows = list(rows_of(acts))
    told = sum(isinstance(row, Load) and row.is_told for row in rows)
    if not told:
        return False
    return told * GATHER >= sum(row_cost(row) for row in rows if isinstance(row, Compute))


def write_one_by_one(
    block: ColumnBlock,
    number: int,
    acts: Sequence[Act],
    numbers: Iterator[int],
    sweep: Sweep | None = None,
) -> Iterator[str]:
    """Write acts that go through the columns of a block one after the other, at each level.

    Where all fields that loads at indices of their own read have one stride and the same levels, as
    arrays of one allocator have, the code computes each place once.
    """
    read = {each for own in rows_of(acts) for each in own.operands}
    read |= {act.row for act in below(acts) if isinstance(act, If | While)}
    for row in sorted(read):
        if block.homes.get(row, (number,))[0] != number:
            block.kept[row] = True
    body, fields = with_alike_fields(_body(block), acts, tested=True)
    called, level = f"part{number}", [] if sweep is None else [body.positions[sweep.range.dim]]
    words = ", ".join(f"s64 {each}" for each in (block.inner, *level, *fields.names))
    yield f"const auto {called} = [=]({words}) INLINE {{"
    yield from indented(_column(block, body, acts, numbers))
    yield "};"

    def loops(given: Sequence[str]) -> Iterator[str]:
        words = ", ".join(("b", *level, *given))
        across = f"for (s64 b = first; b < last; ++b) {called}({words});"
        if sweep is None:
            yield across
        else:
            yield loop_over(level[0], body.scope.ends(sweep.range), backward=sweep.backward)
            yield from (*indented(_prefetched(block, acts, sweep)), f"  {across}", "}")

    if fields.test:
        yield from (f"if ({fields.test}) {{", *indented(loops(fields.alike)), "} else {")
        yield from (*indented(loops(fields.own)), "}")
    else:
        yield from loops(fields.own)


def _prefetched(block: ColumnBlock, acts: Iterable[Act], sweep: Sweep) -> Iterator[str]:
    """Prefetch rows of a later level; columns mostly search near the level of their sweep.

    Rows of a block are short and far apart, so that processors load hardly any of them ahead. What
    the shared cache holds is near enough: there prefetches only displace rows in use. A prefetch
    beyond a field has no effect.
    """
    body, own = block.body, sweep.range.dim
    later = f"({body.positions[own]} {'-' if sweep.backward else '+'} {AHEAD})"
    names = {dim: "b" if name == block.inner else name for dim, name in body.positions.items()}
    body = classes.evolve(body, positions={**names, own: later})
    loads = {row.buffer: row for row in rows_of(acts) if isinstance(row, Load) and own in row.dims}
    fields = [row for row in loads.values() if body.scope.by_name[row.buffer].memory == "field"]
    if not fields:
        return
    sizes = [ITEMSIZES[row.dtype] for row in fields]
    box = (*body.scope.kernel.groups[body.group].box, sweep.range)
    yield f"if ({points(body.scope, box)} * {sum(sizes)} >= {body.scope.ask('held')})"
    yield f"for (s64 b = first; b < last; b += {LINE // max(sizes)}) {{"
    for row in fields:
        place = element(body, classes.evolve(row, rows=(), when=None), DIRECT)
        yield f"  __builtin_prefetch(&{place});"
    yield "}"


def _body(block: ColumnBlock) -> Body:
    """Return the rows of a column, with names for those of other parts."""
    names = {
        row: f"(k{row}[o] != 0)" if block.body.rows[row].dtype == "bool" else f"k{row}[o]"
        for row, is_far in block.kept.items()
        if is_far
    }
    return classes.evolve(block.body, names=names)


def _column(
    block: ColumnBlock, body: Body, acts: Sequence[Act], numbers: Iterator[int]
) -> Iterator[str]:
    """Write what one column does at a level; registers of the block are variables in between."""
    found = {row.register for row in rows_of(acts) if isinstance(row, Get | Set)}
    block.carried |= read_first(acts)
    carried = sorted(block.carried & found)
    yield f"const s64 o = {block.inner} - first;"
    for register in carried:
        yield f"{block.type(block.registers[register])}* const h{register} = g{register};"
    yield "{"
    for register in sorted(found):
        dtype = block.registers[register]
        test = " != 0" if dtype == "bool" else ""
        first = f"h{register}[o]{test}" if register in carried else "0"
        yield f"  {TYPES[dtype][0]} g{register} = {first};"
    yield from indented(each for each in acts_of(body, acts, numbers) if each.strip())
    for register in carried:
        mask = " ? -1 : 0" if block.registers[register] == "bool" else ""
        yield f"  h{register}[o] = g{register}{mask};"
    yield "}"
