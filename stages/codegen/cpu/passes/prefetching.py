"""Prefetch rows before the loops reach them.

Hardware detects a stream of addresses after its first few cache lines: too late where rows are
short, and never where a neighbour table gives the next row. So while the innermost loop computes
one row, the code prefetches the rows that later iterations of the next outer loop read and that no
load has read yet. Where nests of a tile take turns row by row, the last one that reads a field
prefetches it: the first one waits for memory anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .....runtime.language import Dimension, DimensionKind
from .....runtime.process import classes
from ....ir.loops import (
    Buffer,
    Kernel,
    Load,
    Nest,
    Node,
    Row,
    Tiles,
    axis_along,
    marked,
    marks_of,
    rewrite,
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
    kernel = with_rows(kernel, lambda nest: _asking(nest, buffers))
    return rewrite(kernel, lambda node: _left_to_the_last(node, buffers))


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
    asks = asked or marks_of(nest).streams  # the ends of rows that are stored past the caches
    return marked(nest, ahead=ahead, asked=tuple(asked.values())) if asks else nest


def _left_to_the_last(node: Node, buffers: Mapping[str, Buffer]) -> Node:
    """Let the last nest of a tile that reads rows prefetch them, a turn before the first one."""
    if not isinstance(node, Tiles) or node.rolled is None:
        return node
    asked = [
        _in_turn(member.nest, node.rolled, lead, buffers)
        for member, (_, lead) in zip(node.members, node.rolled_margins, strict=True)
    ]
    newest, last = dict[object, int](), dict[object, int]()
    for number, own in enumerate(asked):
        newest |= {key: max(newest.get(key, at), at) for key, at in own.values()}
        last |= {key: number for key, _ in own.values()}
    members = []
    for number, (member, own) in enumerate(zip(node.members, asked, strict=True)):
        marks = marks_of(member.nest)
        later = [newest[key] - at for key, at in own.values() if last[key] == number]
        rows = tuple(row for row in marks.asked if row not in own or last[own[row][0]] == number)
        usual = marks.ahead if rows or marks.streams else 0
        nest = marked(member.nest, asked=rows, ahead=max(later) + 1 if later else usual)
        members.append(classes.evolve(member, nest=nest))
    return classes.evolve(node, members=tuple(members))


def _in_turn(
    nest: Nest, rolled: Dimension, lead: int, buffers: Mapping[str, Buffer]
) -> dict[Row, tuple[object, int]]:
    """Return for rows that a nest prefetches the key that is theirs in all nests, and the index.

    A nest leads the last one by `lead`. Rows that tables tell have a key in their nest only.
    """
    found: dict[Row, tuple[object, int]] = {}
    for row in marks_of(nest).asked:
        load = nest.body[row]
        if isinstance(load, Load) and not load.is_told and nest.loops[-2].range.dim is rolled:
            key, offset = _place(nest, load, buffers[load.buffer]) or (None, None)
            if offset is not None:
                found[row] = key, lead + offset
    return found


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
