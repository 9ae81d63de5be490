"""The regions of `concat_where`: boxes with symbolic bounds, combined by `&` and `|`.

A box without sides is everywhere; a union without boxes is nowhere. A box is empty in a call in
which its bounds cross; the parts around it do not overlap then either.

A union of boxes that may overlap is not split into disjoint boxes, whose number could explode: a
choice by `a | b` becomes a choice by `a` whose other branch is a choice by `b`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...runtime.language import Dimension, union_of
from ...runtime.process import classes
from ..ir import bounds
from ..ir.dataflow import Bound, Ref, Side, add, difference, maximum, minimum
from .graph import Graph
from .worklist import Task

Box: TypeAlias = tuple[Side, ...]
Boxes: TypeAlias = tuple[Box, ...]

EVERYWHERE: Boxes = ((),)


@classes.frozen
class Outside:
    """The complement of a box."""

    box: Box


@classes.frozen
class Pair:
    """The intersection or the union of two regions; `op` is and, or."""

    op: str
    left: Formula
    right: Formula


Formula: TypeAlias = Box | Outside | Pair


def inside(dim: Dimension, op: str, bound: Bound) -> Formula:
    """Return the region in which an index and a bound compare as `op`: lt, le, gt, ge, eq or ne."""
    beyond = add(bound, 1)
    match op:
        case "lt":
            return (Side(dim, None, bound),)
        case "le":
            return (Side(dim, None, beyond),)
        case "gt":
            return (Side(dim, beyond, None),)
        case "ge":
            return (Side(dim, bound, None),)
    point = (Side(dim, bound, beyond),)
    return point if op == "eq" else Outside(point)


def pair(op: str, left: Formula, right: Formula) -> Formula:
    """Return `left & right` or `left | right`; the intersection of two boxes is a box."""
    if op == "and" and isinstance(left, tuple) and isinstance(right, tuple):
        return met(left, right)
    return Pair(op, left, right)


def inner(region: Formula) -> Box:
    """Return a box around a region: the region itself if it is a box, else everything."""
    return region if isinstance(region, tuple) else ()


def outer(region: Formula) -> Box:
    """Return a box around the complement of a region; it is exact for a box with one side."""
    if not isinstance(region, tuple) or len(region) != 1:
        return ()
    (side,) = region
    if (side.start is None) == (side.stop is None):
        return ()
    return (Side(side.dim, side.stop, side.start),)


def choice(graph: Graph, region: Formula, then: Ref, otherwise: Ref) -> Task:
    """Choose between two values of a graph by a region."""
    if isinstance(region, Outside):
        return _chosen(graph, region.box, otherwise, then)
    if not isinstance(region, Pair):
        return _chosen(graph, region, then, otherwise)
    for part in reversed(_joined(region)):
        if region.op == "and":
            then = yield choice(graph, part, then, otherwise)
        else:
            otherwise = yield choice(graph, part, then, otherwise)
    return then if region.op == "and" else otherwise


def _joined(region: Pair) -> list[Formula]:
    """Return what `and` or `or` joins, single boxes first.

    The first is the outermost choice. A box that stood below `a | b` would be a choice that both
    parts read, hence needed on their hull, where it may have a point though it has none in either.
    """
    found: list[Formula] = []
    left: list[Formula] = [region]
    while left:
        part = left.pop()
        if isinstance(part, Pair) and part.op == region.op:
            left += (part.right, part.left)
        else:
            found.append(part)
    return sorted(found, key=lambda part: isinstance(part, Pair))


def _chosen(graph: Graph, box: Box, then: Ref, otherwise: Ref) -> Ref:
    return otherwise if is_empty(box) else graph.region((box,), then, otherwise)


def without(region: Boxes, taken: Boxes) -> Boxes:
    """Return a region without the boxes of another region."""
    for box in taken:
        region = tuple(part for whole in region for part in _around(whole, box))
    return region


def is_empty(box: Box) -> bool:
    """Tell whether a box is known to be empty."""
    return any(map(_is_empty, box))


def _is_empty(side: Side) -> bool:
    if side.start is None or side.stop is None:
        return False
    return bounds.is_empty(side.start, side.stop)


def latest(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the larger of two starts; None is minus infinity."""
    return right if left is None else left if right is None else maximum(left, right)


def earliest(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the smaller of two stops; None is infinity."""
    return right if left is None else left if right is None else minimum(left, right)


def met(left: Box, right: Box) -> Box:
    """Return the intersection of two boxes."""
    sides = {side.dim: side for side in left}
    for side in right:
        own = sides.get(side.dim, Side(side.dim, None, None))
        start, stop = latest(own.start, side.start), earliest(own.stop, side.stop)
        sides[side.dim] = Side(side.dim, start, stop)
    return tuple(sides[dim] for dim in union_of((dim,) for dim in sides))


def _around(box: Box, hole: Box) -> Iterator[Box]:
    """Yield the parts of `box` outside `hole`: below and above it, dimension by dimension."""
    for side in hole:
        below, above = Side(side.dim, None, side.start), Side(side.dim, _end(side), None)
        for part in (below, above):
            if (part.start, part.stop) != (None, None):
                left = met(box, (part,))
                if not is_empty(left):
                    yield left
        box = met(box, (side,))
        if is_empty(box):
            return


def _end(side: Side) -> Bound | None:
    """Return the stop of a side, but at least its start, so that no extent is negative."""
    if side.start is None or side.stop is None:
        return side.stop
    count = difference(side.stop, side.start)
    return side.stop if count is not None and count >= 0 else maximum(side.start, side.stop)
