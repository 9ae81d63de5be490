"""Prefetch rows before the loops reach them.

Hardware detects a stream of addresses after its first few cache lines: too late where rows are
short, and never where a neighbour table gives the next row. So while the innermost loop computes
one row, the code prefetches the rows that later iterations of the next outer loop read and that no
load has read yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .....runtime.language import DimensionKind
from ....ir.loops import (
    Buffer,
    Kernel,
    Load,
    Nest,
    Row,
    axis_along,
    marked,
    marks_of,
    row_of,
    with_rows,
)
from ...pass_list import Rules

# Iterations of the next outer loop between prefetch and load; columns are short.
NEXT: Final = 2
COLUMNS: Final = 16


def prefetch(kernel: Kernel, _: Rules) -> Kernel:
    """Note in each nest the loads whose rows the code prefetches."""
    buffers = {each.name: each for each in kernel.buffers if each.memory in ("field", "arena")}
    return with_rows(kernel, lambda nest: _asking(nest, buffers))


def _asking(nest: Nest, buffers: Mapping[str, Buffer]) -> Nest:
    depth, around = len(nest.loops), nest.loops[-2]
    places = {
        row: place
        for row, load in enumerate(nest.body)
        if isinstance(load, Load) and load.buffer in buffers and load.level == depth
        if (place := _place(nest, load, buffers[load.buffer])) is not None
    }
    if marks_of(nest).march:
        first = _first_plane(nest, places)
        places = {row: place for row, place in places.items() if row in first}
    read = set(places.values())
    step = -around.step if around.backward else around.step
    asked: dict[tuple[object, int | None], Row] = {}
    for row, (rest, offset) in places.items():
        if offset is None or (rest, offset + step) not in read:
            asked.setdefault((rest, offset), row)
    is_column = nest.loops[-1].range.dim.kind is DimensionKind.VERTICAL
    ahead = COLUMNS if is_column else max(1, NEXT // around.step)
    return marked(nest, ahead=ahead, asked=tuple(asked.values())) if asked else nest


def _first_plane(nest: Nest, rows: Iterable[Row]) -> set[Row]:
    """Return the loads from the plane that a block of rows reaches first: others were read."""
    outer = nest.loops[0].range.dim
    loads = {row: load for row in rows if isinstance(load := nest.body[row], Load)}
    planes = {
        row: dict(zip(load.dims, load.offsets, strict=True)).get(outer, 0)
        for row, load in loads.items()
    }
    order = sorted(loads, key=planes.__getitem__)
    first = {loads[row].buffer: planes[row] for row in order}  # by buffer the largest one
    return {row for row, load in loads.items() if planes[row] == first[load.buffer]}


def _place(nest: Nest, load: Load, buffer: Buffer) -> tuple[object, int | None] | None:
    """Return the key of the row that a load reads, and its offset along the next outer loop.

    Where a value that this loop computes tells the row, there is no offset. The result is None
    where the loop does not change the row, and for loads of single elements.
    """
    inner, around, depth = nest.loops[-1].range.dim, nest.loops[-2].range.dim, len(nest.loops)
    key = row_of(nest.body, load, buffer, inner, depth)
    if key is None:
        return None
    name, places = key
    axis = axis_along(nest.body, load, buffer, around)
    if axis is not None:
        return (name, places[:axis], places[axis + 1 :]), places[axis][1]
    moves = any(row is not None and nest.body[row].level == depth - 1 for row, _ in places)
    return (key, None) if moves else None
