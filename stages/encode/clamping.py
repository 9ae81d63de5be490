"""Clamp the indices of loads to their fields, for calls whose soft reads lead out of them."""

from __future__ import annotations

from ...runtime.process import classes
from ..codegen.soft_reads import Ends
from ..ir.bounds import add
from ..ir.loops.nest import (
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    with_operands,
)


def clamped_nest(nest: Nest, ends: Ends) -> Nest:
    """Return a nest whose loads from the fields in `ends` stay inside of them."""
    if not any(isinstance(row, Load) and row.buffer in ends for row in nest.body):
        return nest
    rows: list[Instruction] = []
    moved: list[Row] = []
    for row in nest.body:
        each = with_operands(row, moved.__getitem__)
        if isinstance(each, Load) and each.buffer in ends:
            each = _clamped(each, rows, nest, ends)
        moved.append(len(rows))
        rows.append(each)
    states = tuple((dtype, moved[row]) for dtype, row in nest.states)
    return classes.evolve(nest, body=tuple(rows), states=states, marks=None)


def _clamped(load: Load, rows: list[Instruction], nest: Nest, ends: Ends) -> Load:
    """Return a load whose index along each axis is a row of its own."""
    depth = {loop.range.dim: level for level, loop in enumerate(nest.loops, 1)}
    shared = sum(loop.kind == "parallel" for loop in nest.loops)

    def write(row: Instruction) -> Row:
        rows.append(row)
        return len(rows) - 1

    def compute(op: str, one: Row, other: Row) -> Row:
        level = max(rows[one].level, rows[other].level)
        part = load.part if level == len(nest.loops) else 0
        made = Compute(dtype="int64", level=level, part=part, op=op, args=(one, other))
        return write(made)

    indices: list[Row] = []
    for (dim, row, offset), (start, stop) in zip(load.places, ends[load.buffer], strict=True):
        if row is None and dim in depth:
            level = max(depth[dim], shared)
            part = load.part if level == len(nest.loops) else 0
            found = write(Index(dtype="int64", level=level, part=part, dim=dim))
        elif row is None:
            found = write(Constant(dtype="int64", text=str(offset)))
        elif rows[row].dtype != "int64":
            at = rows[row]
            found = write(
                Compute(dtype="int64", level=at.level, part=at.part, op="cast", args=(row,))
            )
        else:
            found = row
        if offset and (row is not None or dim in depth):
            found = compute("add", found, write(Constant(dtype="int64", text=str(offset))))
        last = write(Number(dtype="int64", bound=add(stop, -1)))
        first = write(Number(dtype="int64", bound=start))
        indices.append(compute("maximum", compute("minimum", found, last), first))
    return classes.evolve(load, rows=tuple(indices), offsets=(0,) * len(load.dims))
