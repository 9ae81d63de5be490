"""Unswitch loops over the usual levels: no conditions of the first and the last levels in them.

A condition on the index of an outer loop has one value along the whole innermost loop, but
compilers evaluate both branches there and select for each point. Most levels have the same value of
all such conditions: they lie beyond a level that the source gives as a number, and before one that
the call gives. The code has a second innermost loop for these levels, with only the branches that
they take. So do most elements of a mesh in an adjoint: all that a transposed table may list is
there, and lies where the program has computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.bounds import Const, end_by_tables, end_of
from ....ir.loops import (
    Compute,
    Index,
    Instruction,
    Kernel,
    Load,
    Nest,
    Number,
    Row,
    reached,
    with_nests,
)
from ....ir.loops.cpu import marked, marks_of, with_rows
from ...schedule.discovery import TABLE
from ...schedule.rules import Rules
from .settled import follow_from


def unswitch(kernel: Kernel, rules: Rules) -> Kernel:
    """Note in each nest the conditions that have one value on most levels."""
    if not rules.many_outputs:
        return with_rows(kernel, lambda nest: _usual(nest, _likely))
    made = with_rows(kernel, lambda nest: _usual_points(_usual(nest, _likely_listed)))
    return with_nests(made, _usual_elements)


def _usual(nest: Nest, likely: Callable[[Nest, Instruction], bool | None]) -> Nest:
    depth = len(nest.loops)
    values = {
        row: value
        for row, each in enumerate(nest.body)
        if 0 < each.level < depth and (value := likely(nest, each)) is not None
    }
    roots = (row for each in nest.body if each.level == depth for row in _conditions(nest, each))
    used = reached(roots, lambda row: _conditions(nest, nest.body[row]))
    return marked(nest, usual=tuple((row, v) for row, v in values.items() if row in used))


def _usual_points(nest: Nest) -> Nest:
    """Note what most points of a row meet too, if the row is one part: they lie inside of boxes."""
    inner, depth = nest.loops[-1].range.dim, len(nest.loops)
    found = []
    for row, each in enumerate(nest.body):
        if nest.parts or each.level < depth or not isinstance(each, Compute):
            continue
        if each.op in ("ge", "lt") and isinstance(nest.body[each.args[1]], Number):
            index = nest.body[each.args[0]]
            if isinstance(index, Index) and index.dim is inner:
                found.append((row, _likely_listed(nest, each) is not False))
    return marked(nest, usual=(*marks_of(nest).usual, *found)) if found else nest


def _likely(nest: Nest, row: Instruction) -> bool | None:
    """Return what a comparison of an index with a bound is on most levels."""
    if not (isinstance(row, Compute) and row.op in ("ge", "lt")):
        return None
    index, bound = (nest.body[arg] for arg in row.args)
    if not (isinstance(index, Index) and isinstance(bound, Number)):
        return None
    end = end_of(bound.bound)
    is_first = isinstance(bound.bound, Const) if end is None else end == "start"
    return is_first == (row.op == "ge")


def _likely_listed(nest: Nest, row: Instruction) -> bool | None:
    """Return what a comparison is on most levels, or for most elements of a mesh."""
    if isinstance(row, Compute) and row.op in ("ge", "lt"):
        index, bound = (nest.body[arg] for arg in row.args)
        if _entry(nest.body, index) is not None:
            return True
        end = end_by_tables(bound.bound) if isinstance(bound, Number) else None
        if isinstance(index, Index) and end is not None:
            return (end == "start") == (row.op == "ge")
    return _likely(nest, row)


def _usual_elements(nest: Nest) -> Nest:
    """Note what most elements meet in a loop along elements alone: of its index, and of entries.

    Entries of tables are there where the conditions on the index hold.
    """
    if len(nest.loops) != 1 or nest.loops[0].kind != "vector" or nest.parts:
        return nest
    likely = {row: _likely_listed(nest, each) for row, each in enumerate(nest.body)}
    known = {row: value for row, value in likely.items() if value is not None}
    subjects = {row: nest.body[row].operands[0] for row in known}
    index = {row: known[row] for row, at in subjects.items() if isinstance(nest.body[at], Index)}
    holds = follow_from(nest.body, index)
    entries = {}
    for row, at in subjects.items():
        entry = entry_of(nest.body, at)
        if entry is not None and (entry.when is None or holds.get(entry.when)):
            entries[row] = known[row]
    return marked(nest, usual=(*index.items(), *entries.items())) if entries else nest


def entry_of(rows: Sequence[Instruction], number: Row) -> Load | None:
    """Return the entry of a table at the element of a loop, if a row is one."""
    entry = _entry(rows, rows[number])
    return None if entry is None or entry.is_told or entry.offsets[0] else entry


def _entry(rows: Sequence[Instruction], row: Instruction) -> Load | None:
    """Return the entry of a table that a row is."""
    if isinstance(row, Compute) and row.op == "cast":
        row = rows[row.args[0]]
    return row if isinstance(row, Load) and row.buffer.startswith(TABLE) else None


def _conditions(nest: Nest, row: Instruction) -> list[Row]:
    """Return the conditions outside the innermost loop among the operands of a row."""
    operands = ((arg, nest.body[arg]) for arg in row.operands)
    return [arg for arg, each in operands if each.dtype == "bool" and each.level < len(nest.loops)]
