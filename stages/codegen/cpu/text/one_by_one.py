"""Write a sweep of a block of columns that takes one column after the other at each level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops.buffers import Buffer
from ....ir.loops.column import Act, Get, If, Set, Sweep, While
from ....ir.loops.nest import Compute, Load
from ...acts.act_trees import below, rows_of
from ...acts.free_levels import read_first
from ...rows.acts import acts_of, loop_over
from ...rows.body import Body
from ...rows.expressions import TYPES
from ...schedule.costs import row_cost
from .column_blocks import ColumnBlock
from .threads import indented
from .usual_levels import Together, end_rows, end_texts, usual_levels, with_usual_levels

GATHER: Final = 16  # additions that a load at indices of its own in each lane takes


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
    strides, levels = _strides(block, acts), usual_levels(block.body, acts)
    body = with_usual_levels(_body(block, strides, levels), levels)
    called, level = f"part{number}", [] if sweep is None else [body.positions[sweep.range.dim]]
    groups = [list(strides.values()), *end_texts(block.body, levels)]
    own = [each for group in groups for each in group]
    taken = [f"t{place}" for place in range(len(strides))]
    taken += [body.names[row] for row in end_rows(levels)]
    words = ", ".join(f"s64 {each}" for each in (block.inner, *level, *taken))
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
            yield from (f"  {across}", "}")

    same = [f"{g[0]} == {each}" for g in groups for each in dict.fromkeys(g[1:]) if each != g[0]]
    if same:
        alike = [group[0] for group in groups for _ in group]
        yield from (f"if ({' && '.join(same)}) {{", *indented(loops(alike)), "} else {")
        yield from (*indented(loops(own)), "}")
    else:
        yield from loops(own)


def _strides(block: ColumnBlock, acts: Iterable[Act]) -> dict[str, str]:
    """Return by field the stride along which loads have indices of their own."""
    scope, found = block.body.scope, dict[str, str]()
    for row in rows_of(acts):
        if isinstance(row, Load) and row.is_told:
            buffer = scope.by_name[row.buffer]
            axis = next(axis for axis, index in enumerate(row.rows) if index is not None)
            if buffer.memory == "field":
                found[row.buffer] = scope.stride(buffer, axis)
    return found


def _body(block: ColumnBlock, strides: Mapping[str, str], levels: Sequence[Together]) -> Body:
    """Return the rows of a column, with names for strides, ends, and rows of other parts."""
    scope, places = block.body.scope, list(strides)

    def stride(buffer: Buffer, axis: int) -> str:
        found = scope.stride(buffer, axis)
        is_own = strides.get(buffer.name) == found
        return f"t{places.index(buffer.name)}" if is_own else found

    names = {
        row: f"(k{row}[o] != 0)" if block.body.rows[row].dtype == "bool" else f"k{row}[o]"
        for row, is_far in block.kept.items()
        if is_far
    }
    names |= {row: f"e{place}" for place, row in enumerate(end_rows(levels))}
    return classes.evolve(block.body, names=names, scope=classes.evolve(scope, strides=stride))


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
