"""Write columns that search: one after the other, where lanes would wait for most of their loads.

Loads at indices of their own stay inside of fields, where the last level stands for those beyond.
The usual code is for fields with one stride and the same levels, as arrays of one allocator have:
it computes each place once, tests levels, and gives a column that leaves them to the other code,
which moves levels to the ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import dropwhile
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    LINE,
    Access,
    Act,
    Compute,
    Get,
    If,
    Instruction,
    Load,
    Set,
    Store,
    Sweep,
    While,
)
from ...acts.act_trees import below, rows_of
from ...acts.free_levels import read_first
from ...rows import (
    DIRECT,
    TYPES,
    Body,
    acts_of,
    element,
    levels_together,
    loop_over,
    with_alike_fields,
    with_equal_fields,
)
from ...schedule.costs import row_cost
from .column_blocks import ColumnBlock
from .threads import indented, points

GATHER: Final = 16  # additions that a load at indices of its own in each lane takes
AHEAD: Final = 3  # levels from a prefetch to the load
# Without it compilers prepare a loop for many turns, which takes longer than the few that it makes.
SOON: Final = {"soon": "#define soon(x) __builtin_expect_with_probability(x, 1, 0.7)"}


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
    """Write acts that go through the columns of a block one after the other, at each level."""
    _keep(block, number, acts)
    body = _body(block)
    together = levels_together(body.rows, acts, next(copy(numbers)))
    body.scope.uses.functions.update(SOON)
    level = [] if sweep is None else [body.positions[sweep.range.dim]]
    own, fields = with_alike_fields(body, acts, together)
    words = ", ".join(f"s64 {each}" for each in ("from", "to", *level, *fields.names))
    yield f"const auto any{number} = [=]({words}) INLINE {{"
    yield f"  for (s64 {block.inner} = from; {block.inner} < to; ++{block.inner}) {{"
    yield from (*indented(_column(block, own, acts, copy(numbers)), "    "), "  }", "};")
    usual = with_equal_fields(body, acts, together, leaves=_can_begin_anew(acts))
    words = ", ".join(f"s64 {each}" for each in (block.inner, *level, "stride", "most"))
    yield f"const auto part{number} = [=]({words}) INLINE {{"
    yield from (*indented(_column(block, usual, acts, numbers)), "  return true;", "};")

    def loops(run: str) -> Iterator[str]:
        if sweep is None:
            yield run
        else:
            yield loop_over(level[0], body.scope.ends(sweep.range), backward=sweep.backward)
            yield from (*indented(_prefetched(block, acts, sweep)), f"  {run}", "}")

    def elsewhere(*ends: str) -> str:
        body.scope.ask("masked")
        return f"elsewhere({', '.join((f'any{number}', *ends, *level, *fields.own))});"

    column = ", ".join(("b", *level, *fields.equal))
    part = f"for (s64 b = first; b < last; ++b) if (!part{number}({column})) "
    yield from (f"if ({fields.test_equal}) {{", *indented(loops(part + elsewhere("b", "b + 1"))))
    yield from ("} else {", *indented(loops(elsewhere("first", "last"))), "}")


def _keep(block: ColumnBlock, number: int, acts: Sequence[Act]) -> None:
    """Note that acts read rows which other parts have computed."""
    read = {each for own in rows_of(acts) for each in own.operands}
    read |= {act.row for act in below(acts) if isinstance(act, If | While)}
    for row in sorted(read):
        if block.homes.get(row, (number,))[0] != number:
            block.kept[row] = True


def _can_begin_anew(acts: Iterable[Act]) -> bool:
    """Tell whether acts may stop at each access with an index of its own, and begin anew.

    They may if they have not changed by then what they read, nor in an earlier turn of a loop.
    """
    rows = list(rows_of(acts))
    loaded = {row.buffer for row in rows if isinstance(row, Load)}
    loops = ([*rows_of([each])] * 2 for each in below(acts) if isinstance(each, While))

    def is_harmless(row: Instruction) -> bool:
        return not (isinstance(row, Store) and (row.add or row.buffer in loaded))

    late = (row for each in (rows, *loops) for row in dropwhile(is_harmless, each))
    return not any(isinstance(row, Access) and row.is_told for row in late)


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
    many = points(body.scope, body.scope.kernel.groups[body.group].box, (sweep.range,))
    yield f"if ({many} * {sum(sizes)} >= {body.scope.ask('held')})"
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
    yield from indented(each for each in acts_of(body, acts, numbers, "soon(!{})") if each.strip())
    for register in carried:
        mask = " ? -1 : 0" if block.registers[register] == "bool" else ""
        yield f"  h{register}[o] = g{register}{mask};"
    yield "}"
