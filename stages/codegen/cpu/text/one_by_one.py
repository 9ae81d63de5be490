"""Write a sweep of a block of columns that takes one column after the other at each level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import Act, Compute, Get, If, Load, Set, Sweep, While
from ...acts.act_trees import below, rows_of
from ...acts.free_levels import read_first
from ...rows import CPU, DIRECT, TYPES, Body, acts_of, element, loop_over, with_alike_fields
from ...schedule.costs import ITEMSIZES, row_cost
from .column_blocks import ColumnBlock
from .streams import LINE
from .threads import indented

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
    body, fields = with_alike_fields(_body(block), acts, CPU)
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

    Rows of a block are short and far apart, so that processors load hardly any of them ahead. A
    prefetch beyond a field has no effect.
    """
    body, own = block.body, sweep.range.dim
    later = f"({body.positions[own]} {'-' if sweep.backward else '+'} {AHEAD})"
    names = {dim: "b" if name == block.inner else name for dim, name in body.positions.items()}
    body = classes.evolve(body, positions={**names, own: later})
    loads = {row.buffer: row for row in rows_of(acts) if isinstance(row, Load) and own in row.dims}
    fields = [row for row in loads.values() if body.scope.by_name[row.buffer].memory == "field"]
    if not fields:
        return
    step = LINE // max(ITEMSIZES[row.dtype] for row in fields)
    yield f"for (s64 b = first; b < last; b += {step}) {{"
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
    lines = acts_of(body, acts, numbers)
    yield from indented(each for each in lines if each.strip())
    for register in carried:
        mask = " ? -1 : 0" if block.registers[register] == "bool" else ""
        yield f"  h{register}[o] = g{register}{mask};"
    yield "}"
