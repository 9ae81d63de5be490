"""Refuse what has no meaning on a grid that is computed in parallel.

An output of a call never needs its old values at other columns, so that all reads of a call may
precede all writes; a value that is read at other columns is complete when it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import prod

from ....runtime.process import Span
from ...ir.stencil import Assign, Block, Read
from .. import NotYetSupportedError, StencilRefusedError, reads_below
from ..read.data_axes import MOST
from ..read.scope import Tables
from ..sweeps import is_imperative, shifted_cycle
from .extents import ZERO, extents_of


def check_races(tables: Tables) -> None:
    """Raise the error of the first statement that has no meaning."""
    for number, block in enumerate(tables.blocks):
        wheres = tables.wheres[number]
        for each, where in zip(block.body, wheres, strict=True):
            _check_own(tables, each, where)
        _check_block(tables, number, block, wheres)
        _check_branches(tables, block, wheres)
        if block.order != "parallel":
            _check_sweep(tables, block, wheres)
        else:
            pairs = zip(block.body, wheres, strict=True)
            _check_tables(tables, [pair for pair in pairs if pair[0].loops])
    _check_outputs(tables)


def _refuse(where: Span, message: str, *hints: str) -> StencilRefusedError:
    return StencilRefusedError(where, message, hints=hints)


def _reads(tables: Tables, assigns: Sequence[Assign]) -> list[Read]:
    roots = [ref for each in assigns for ref in each.roots]
    return reads_below(tables.nodes, roots)


def _is_aside(read: Read) -> bool:
    return read.offset[:2] != (0, 0)


def _check_own(tables: Tables, assign: Assign, where: Span) -> None:
    for read in reads_below(tables.nodes, (assign.value,)):
        if read.variable == assign.variable and _is_aside(read):
            name = tables.variables[read.variable].name
            raise _refuse(
                where,
                "Self-assignment with offset in I or J is illegal.",
                f"Assign a copy of '{name}' first, and read the copy.",
            )


def _check_block(tables: Tables, number: int, block: Block, wheres: Sequence[Span]) -> None:
    reads = _reads(tables, block.body)
    aside = {read.variable for read in reads if _is_aside(read)}
    levels = {read.variable for read in reads if read.offset[2]}
    moved = {read.variable for read in reads if read.level is not None}
    is_parallel = block.order == "parallel" and not _is_one_level(block)
    for each, where in zip(block.body, wheres, strict=True):
        variable = tables.variables[each.variable]
        is_own = tables.first_block.get(each.variable) == number
        if each.variable in aside and not is_own:
            raise _refuse(
                where,
                "Illegal write and read with horizontal offset detected for "
                f"{{'{variable.name}'}}.",
                "Write it in one computation, and read it in another.",
            )
        if each.variable in moved and block.order == "parallel":
            raise _refuse(
                where,
                "Not allowed to write and read with `VariableKOffset` and/or `AbsoluteKIndex` in "
                f"PARALLEL loops: `{variable.name}`",
                "Write it in one computation, and read it in another.",
            )
        if each.variable in levels and is_parallel:
            raise _refuse(
                where,
                "Not allowed to write and read with k-offsets in PARALLEL loops: "
                f"`{variable.name}`.",
                "Use FORWARD or BACKWARD.",
            )


def _is_one_level(block: Block) -> bool:
    start, stop = block.start, block.stop
    return start.of_end == stop.of_end and stop.offset - start.offset == 1


def _check_branches(tables: Tables, block: Block, wheres: Sequence[Span]) -> None:
    """Refuse what is written and read at other columns in one `if` on fields."""
    pairs = list(zip(block.body, wheres, strict=True))
    for _, group in groupby(pairs, lambda each: each[0].statement):
        statement = list(group)
        assigns = [each for each, _ in statement]
        if not any(tables.variables[each.variable].kind == "mask" for each in assigns):
            continue
        aside = {read.variable for read in _reads(tables, assigns) if _is_aside(read)}
        for each, where in statement:
            if each.variable in aside:
                name = tables.variables[each.variable].name.partition(".")[0]
                raise _refuse(
                    where,
                    f"'{name}' is written and read with a horizontal offset inside one 'if'.",
                    "Move the assignment before the 'if', or read it after the 'if'.",
                )


def _check_sweep(tables: Tables, block: Block, wheres: Sequence[Span]) -> None:
    index = is_imperative(tables.nodes, tables.variables, block)
    if index is not None:
        _check_column(tables, block, wheres)
        return
    found = shifted_cycle(tables.nodes, tables.variables, block)
    if found is not None:
        name = tables.variables[block.body[found].variable].name.partition(".")[0]
        raise _refuse(
            wheres[found],
            f"'{name}' depends on its own values at other columns, from level to level: its "
            "extent would grow with each level.",
            "Carry only values of the same column from level to level.",
        )


def _check_column(tables: Tables, block: Block, wheres: Sequence[Span]) -> None:
    """Refuse what columns that see only themselves cannot do."""
    own = {each.variable for each in block.body}
    for each, where in zip(block.body, wheres, strict=True):
        for read in _reads(tables, [each]):
            name = tables.variables[read.variable].name.partition(".")[0]
            if read.variable in own and _is_aside(read):
                raise NotYetSupportedError(
                    where,
                    f"'{name}' is written and read at other columns in one computation with "
                    "'while', writes at other levels, or levels that it computes: that is not "
                    "supported yet.",
                    hints=("Read it in a computation of its own.",),
                )
    _check_tables(tables, list(zip(block.body, wheres, strict=True)))


def _check_tables(tables: Tables, pairs: Sequence[tuple[Assign, Span]]) -> None:
    """Refuse long tables whose places columns carry: a column chooses among all numbers."""
    own = {each.variable for each, _ in pairs}
    for each, where in pairs:
        for read in _reads(tables, [each]):
            table = tables.variables[read.variable]
            size = prod(table.sizes)
            led = {place.variable for place in reads_below(tables.nodes, read.operands)}
            if read.places and led & own and size > MOST:
                raise NotYetSupportedError(
                    where,
                    f"The computation carries a place in table '{table.name}' of {size} numbers "
                    f"from level to level or round to round, {MOST} are the most: more are not "
                    "supported yet.",
                )


def _check_outputs(tables: Tables) -> None:
    extents = extents_of(tables.nodes, tables.blocks)
    wrong = [
        (name, where)
        for number, name, where in _writes(tables)
        if extents.variables.get(number, ZERO) != ZERO
    ]
    if wrong:
        names = ", ".join(dict.fromkeys(name for name, _ in wrong))
        raise _refuse(
            wrong[0][1],
            f"Found non-zero read extent on written fields: {names}.",
            "An output is written on the domain only, so nothing around it has a new value. Write "
            "another field, or read a temporary.",
        )


def _writes(tables: Tables) -> Iterator[tuple[int, str, Span]]:
    for block, wheres in zip(tables.blocks, tables.wheres, strict=True):
        for each, where in zip(block.body, wheres, strict=True):
            variable = tables.variables[each.variable]
            if variable.kind == "field":
                yield each.variable, variable.name, where
