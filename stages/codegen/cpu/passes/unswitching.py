"""Unswitch loops over the usual levels: no conditions of the first and the last levels in them.

A condition on the index of an outer loop has one value along the whole innermost loop, but
compilers evaluate both branches there and select for each point. Most levels have the same value of
all such conditions: they lie beyond a level that the source gives as a number, and before one that
the call gives. The code has a second innermost loop for these levels, with only the branches that
they take. So do most elements of a mesh in an adjoint: all that a transposed table may list is
there, and lies where the program has computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    Compute,
    Constant,
    Index,
    Instruction,
    Kernel,
    Nest,
    Number,
    Row,
    marked,
    marks_of,
    reached,
    with_nests,
    with_rows,
)
from ...pass_list import Rules
from ...schedule.usual import likely, likely_listed, of_index, with_entries

TRUE: Final = Constant(dtype="bool", text="True")


def unswitch(kernel: Kernel, rules: Rules) -> Kernel:
    """Note in each nest the conditions that have one value on most levels."""
    if not rules.many_outputs:
        return with_rows(kernel, lambda nest: _usual(nest, likely))
    made = with_rows(kernel, lambda nest: _usual_points(_usual(_tested(nest), likely_listed)))
    return with_nests(made, _usual_elements)


def _tested(nest: Nest) -> Nest:
    """Choose what is true by `or`: compilers make no vectors of branches between bools."""
    body = tuple(
        classes.evolve(row, op="or", args=(row.args[0], row.args[2]))
        if isinstance(row, Compute) and row.op == "select" and nest.body[row.args[1]] == TRUE
        else row
        for row in nest.body
    )
    return nest if body == nest.body else classes.evolve(nest, body=body)


def _usual(nest: Nest, value_of: Callable[[Nest, Instruction], bool | None]) -> Nest:
    depth = len(nest.loops)
    values = {
        row: value
        for row, each in enumerate(nest.body)
        if 0 < each.level < depth and (value := value_of(nest, each)) is not None
    }
    roots = (row for each in nest.body if each.level == depth for row in conditions_of(nest, each))
    used = reached(roots, lambda row: conditions_of(nest, nest.body[row]))
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
                found.append((row, likely_listed(nest, each) is not False))
    return marked(nest, usual=(*marks_of(nest).usual, *found)) if found else nest


def _usual_elements(nest: Nest) -> Nest:
    """Note what most elements meet in a loop along elements alone: of its index, and of entries.

    Entries of tables are there where the conditions on the index hold.
    """
    if len(nest.loops) != 1 or nest.loops[0].kind != "vector" or nest.parts:
        return nest
    index = of_index(nest)
    usual = tuple(with_entries(nest, index))
    return nest if len(usual) == len(index) else marked(nest, usual=usual)


def conditions_of(nest: Nest, row: Instruction) -> list[Row]:
    """Return the conditions outside the innermost loop among the operands of a row."""
    operands = ((arg, nest.body[arg]) for arg in row.operands)
    return [arg for arg, each in operands if each.dtype == "bool" and each.level < len(nest.loops)]
