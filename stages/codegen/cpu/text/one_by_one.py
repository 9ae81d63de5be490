"""Write a sweep of a block of columns that takes one column after the other at each level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops.buffers import Buffer
from ....ir.loops.column import Act, Get, If, Set, Sweep, While
from ....ir.loops.nest import Compute, Load, Number
from ...acts.act_trees import below, rows_of
from ...rows.acts import acts_of, loop_over
from ...rows.body import Body, operand
from ...rows.expressions import TYPES
from ...schedule.costs import row_cost
from .column_blocks import ColumnBlock
from .threads import indented

GATHER: Final = 16  # additions that a load at indices of its own in each lane takes
NEAREST: Final = """\
static inline s64 nearest(s64 i, s64 low, s64 high) {
  if (__builtin_expect_with_probability(i < low || i > high, 0, 1.0))
    return later(earlier(i, high), low);
  return i;
}"""


def gathers(sweep: Sweep) -> bool:
    """Tell whether lanes would rather wait for loads at indices of their own than compute."""
    rows = list(rows_of(sweep.acts))
    told = sum(isinstance(row, Load) and row.is_told for row in rows)
    if not told:
        return False
    return told * GATHER >= sum(row_cost(row) for row in rows if isinstance(row, Compute))


def write_one_by_one(
    block: ColumnBlock, number: int, sweep: Sweep, numbers: Iterator[int]
) -> Iterator[str]:
    """Write a sweep that goes through the columns of a block one after the other.

    Where all fields that loads at indices of their own read have one stride, as arrays of one
    allocator have, the code computes each place once.
    """
    read = {each for own in rows_of(sweep.acts) for each in own.operands}
    read |= {act.row for act in below(sweep.acts) if isinstance(act, If | While)}
    for row in sorted(read):
        if block.homes.get(row, (number,))[0] != number:
            block.kept[row] = True
    strides = _strides(block, sweep)
    body = _with_usual_levels(_body(block, strides), sweep)
    level, called = body.positions[sweep.range.dim], f"part{number}"
    taken = "".join(f", s64 t{place}" for place in range(len(strides)))
    yield f"const auto {called} = [=](s64 {block.inner}, s64 {level}{taken}) INLINE {{"
    yield from indented(_column(block, body, sweep, numbers))
    yield "};"

    def loops(given: Sequence[str]) -> Iterator[str]:
        yield loop_over(level, body.scope.ends(sweep.range), backward=sweep.backward)
        yield f"  for (s64 b = first; b < last; ++b) {called}({', '.join(('b', level, *given))});"
        yield "}"

    own = list(strides.values())
    if len(set(own)) > 1:
        same = " && ".join(f"{own[0]} == {each}" for each in dict.fromkeys(own[1:]))
        yield from (f"if ({same}) {{", *indented(loops([own[0]] * len(own))), "} else {")
        yield from (*indented(loops(own)), "}")
    else:
        yield from loops(own)


def _strides(block: ColumnBlock, sweep: Sweep) -> dict[str, str]:
    """Return by field the stride along which loads have indices of their own."""
    scope, found = block.body.scope, dict[str, str]()
    for row in rows_of(sweep.acts):
        if isinstance(row, Load) and row.is_told and sweep.range.dim in row.dims:
            buffer = scope.by_name[row.buffer]
            if buffer.memory == "field":
                found[row.buffer] = scope.stride(buffer, row.dims.index(sweep.range.dim))
    return found


def _body(block: ColumnBlock, strides: Mapping[str, str]) -> Body:
    """Return the rows of a column, with names for strides, and for rows of other parts."""
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
    return classes.evolve(block.body, names=names, scope=classes.evolve(scope, strides=stride))


def _column(block: ColumnBlock, body: Body, sweep: Sweep, numbers: Iterator[int]) -> Iterator[str]:
    """Write what one column does at a level; registers of the block are variables in between."""
    found = set[int]()
    _note(block, sweep.acts, found, set())
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
    lines = acts_of(body, sweep.acts, numbers)
    yield from indented(each for each in lines if each.strip())
    for register in carried:
        mask = " ? -1 : 0" if block.registers[register] == "bool" else ""
        yield f"  h{register}[o] = g{register}{mask};"
    yield "}"


def _note(block: ColumnBlock, acts: Iterable[Act], found: set[int], sure: set[int]) -> None:
    """Note which registers acts know, and which they may read before they set them."""
    for act in acts:
        match act:
            case Get(register=register):
                found.add(register)
                block.carried.update({register} - sure)
            case Set(register=register):
                found.add(register)
                sure.add(register)
            case If(then=then, otherwise=otherwise):
                _note(block, then, found, set(sure))
                _note(block, otherwise, found, set(sure))
            case While(condition=condition, acts=inner):
                _note(block, (*condition, *inner), found, set(sure))


def _with_usual_levels(body: Body, sweep: Sweep) -> Body:
    """Return a body in which levels are compared with the ends, and rarely moved to one.

    A load would wait for the extrema; a test that always has the same answer costs nothing.
    """
    own = {id(row) for row in rows_of(sweep.acts)}
    users = Counter(each for row in body.rows for each in row.operands)
    instead = {}
    for number, row in enumerate(body.rows):
        if id(row) not in own or not isinstance(row, Compute) or row.dtype != "int64":
            continue
        inner = body.rows[row.args[0]] if row.op == "maximum" else row
        if inner is not row and isinstance(inner, Compute) and inner.op == "minimum":
            ends = body.rows[row.args[1]], body.rows[inner.args[1]]
            if users[row.args[0]] == 1 and all(isinstance(each, Number) for each in ends):
                args = (operand(body, each) for each in (inner.args[0], row.args[1], inner.args[1]))
                instead[row.args[0]] = ""
                instead[number] = f"const s64 v{number} = nearest({', '.join(args)});"
    if instead:
        body.scope.uses.functions["nearest"] = NEAREST
    return classes.evolve(body, instead=instead)
