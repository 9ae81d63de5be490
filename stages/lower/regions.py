"""Regions as unions of disjoint boxes with symbolic bounds, in any number of dimensions.

A box without sides is everywhere; a region without boxes is nowhere. A box whose bounds
cross at a call is empty; the parts around it are then made so that they do not overlap either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...runtime.dimension import Dimension
from ..ir.bounds import Bound, add, difference, maximum, minimum
from ..ir.dataflow import Side, union_of

Box: TypeAlias = tuple[Side, ...]
Boxes: TypeAlias = tuple[Box, ...]

EVERYWHERE: Boxes = ((),)


def inside(dim: Dimension, op: str, bound: Bound) -> Boxes:
    """Return where an index compares so with a bound; `op` is lt, le, gt, ge, eq or ne."""
    beyond = add(bound, 1)
    below, above = Side(dim, None, bound), Side(dim, beyond, None)
    match op:
        case "lt":
            return ((below,),)
        case "le":
            return ((Side(dim, None, beyond),),)
        case "gt":
            return ((above,),)
        case "ge":
            return ((Side(dim, bound, None),),)
        case "eq":
            return ((Side(dim, bound, beyond),),)
    return (below,), (above,)


def both(left: Boxes, right: Boxes) -> Boxes:
    """Return where two regions meet."""
    met = (_met(a, b) for a in left for b in right)
    return tuple(box for box in met if not is_empty(box))


def either(left: Boxes, right: Boxes) -> Boxes:
    """Return where any of two regions is."""
    return left + without(right, left)


def without(region: Boxes, taken: Boxes) -> Boxes:
    """Return a region but for the boxes of another one."""
    for box in taken:
        region = tuple(part for whole in region for part in _around(whole, box))
    return region


def is_empty(box: Box) -> bool:
    """Tell whether a box is known to be empty."""
    return any(
        side.start is not None
        and side.stop is not None
        and (count := difference(side.stop, side.start)) is not None
        and count <= 0
        for side in box
    )


def latest(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the larger of two starts; None is the infinite one."""
    return right if left is None else left if right is None else maximum(left, right)


def earliest(left: Bound | None, right: Bound | None) -> Bound | None:
    """Return the smaller of two stops; None is the infinite one."""
    return right if left is None else left if right is None else minimum(left, right)


def _met(left: Box, right: Box) -> Box:
    sides = {side.dim: side for side in left}
    for side in right:
        own = sides.get(side.dim, Side(side.dim, None, None))
        start, stop = latest(own.start, side.start), earliest(own.stop, side.stop)
        sides[side.dim] = Side(side.dim, start, stop)
    return tuple(sides[dim] for dim in union_of((dim,) for dim in sides))


def _around(box: Box, hole: Box) -> Iterator[Box]:
    """Yield what is left of `box` without `hole`: below and above it, dimension by dimension."""
    for side in hole:
        below, above = Side(side.dim, None, side.start), Side(side.dim, _end(side), None)
        for part in (below, above):
            if (part.start, part.stop) != (None, None):
                left = _met(box, (part,))
                if not is_empty(left):
                    yield left
        box = _met(box, (side,))
        if is_empty(box):
            return


def _end(side: Side) -> Bound | None:
    """Return where a side ends; one that ends before it starts is empty, and ends there."""
    if side.start is None or side.stop is None:
        return side.stop
    count = difference(side.stop, side.start)
    return side.stop if count is not None and count >= 0 else maximum(side.start, side.stop)
