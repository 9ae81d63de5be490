"""Prefetch rows before the loops reach them.

Hardware detects a stream of addresses after its first few cache lines: too late where rows are
short, and never where a neighbour table gives the next row. So while the innermost loop computes
one row, the code prefetches the rows that later iterations of the next outer loop read and that no
load has read yet.
"""

from __future__ import annotations

from typing import Final

from .....runtime.language.dimension import DimensionKind
from ....ir.loops.cpu import marked, marks_of, with_rows
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Load, Nest, Row
from ...schedule.rules import Rules

# Iterations of the next outer loop between prefetch and load; columns are short.
NEXT: Final = 2
COLUMNS: Final = 16


def prefetch(kernel: Kernel, _: Rules) -> Kernel:
    """Note in each nest the loads whose rows the code prefetches."""
    memory = {buffer.name for buffer in kernel.buffers if buffer.memory in ("field", "arena")}
    return with_rows(kernel, lambda nest: _asking(nest, memory))


def _asking(nest: Nest, memory: set[str]) -> Nest:
    loads = {
        row: load
        for row, load in enumerate(nest.body)
        if isinstance(load, Load) and load.buffer in memory and _is_row(nest, load)
    }
    if marks_of(nest).march:
        loads = _first_plane(loads, nest)
    read = {_place(load, nest) for load in loads.values()}
    around = nest.loops[-2]
    step = -around.step if around.backward else around.step
    asked: dict[tuple[object, ...], Row] = {}
    for row, load in loads.items():
        rest, offset = _place(load, nest)
        if offset is None or (rest, offset + step) not in read:
            asked.setdefault((rest, offset), row)
    is_column = nest.loops[-1].range.dim.kind is DimensionKind.VERTICAL
    ahead = COLUMNS if is_column else max(1, NEXT // around.step)
    return marked(nest, ahead=ahead, asked=tuple(asked.values())) if asked else nest


def _first_plane(loads: dict[Row, Load], nest: Nest) -> dict[Row, Load]:
    """Return the loads from the plane that a block of rows reaches first: others were read."""
    outer = nest.loops[0].range.dim
    planes = {
        row: dict(zip(load.dims, load.offsets, strict=True)).get(outer, 0)
        for row, load in loads.items()
    }
    order = sorted(loads, key=planes.__getitem__)
    first = {loads[row].buffer: planes[row] for row in order}  # by buffer the largest one
    return {row: load for row, load in loads.items() if planes[row] == first[load.buffer]}


def _is_row(nest: Nest, load: Load) -> bool:
    """Tell whether a load reads memory along the innermost loop, row after row."""
    inner, around = nest.loops[-1].range.dim, nest.loops[-2].range.dim
    rows = load.rows or (None,) * len(load.dims)
    if load.level != len(nest.loops) or inner not in load.dims:
        return False
    if rows[load.dims.index(inner)] is not None:
        return False
    levels = [nest.body[row].level for row in rows if row is not None]
    moves = [level == len(nest.loops) - 1 for level in levels]
    walks = around in load.dims and rows[load.dims.index(around)] is None
    return len(nest.loops) not in levels and (any(moves) or walks)


def _place(load: Load, nest: Nest) -> tuple[tuple[object, ...], int | None]:
    """Return the key of a row, and its offset along the next outer loop if that moves it."""
    inner, around = nest.loops[-1].range.dim, nest.loops[-2].range.dim
    rows = load.rows or (None,) * len(load.dims)
    rest: list[object] = [load.buffer]
    moved = None
    for dim, row, offset in zip(load.dims, rows, load.offsets, strict=True):
        if dim is around and row is None:
            moved = offset
        elif dim is not inner:
            rest.append((row, offset))
    return tuple(rest), moved
