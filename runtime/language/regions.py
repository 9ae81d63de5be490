"""Regions: unions of disjoint boxes, the conditions of `concat_where`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ..process import ArgumentError, classes
from .dimension import Dimension, DimensionKind, in_canonical_order
from .domain import Domain, NamedRange
from .ranges import UnitRange

Boxes: TypeAlias = tuple[Domain, ...]


@classes.frozen
class Region:
    """Where a condition on indices holds; every box names the same dimensions.

    >>> K = Dimension("K", DimensionKind.VERTICAL)
    >>> str(as_region(K < 2) | (K > 5) | (K == 2))
    '(-inf:3) or (6:inf) along K'
    >>> str(outside(as_region(K < 2) | (K > 5)))
    '(2:6) along K'
    """

    dims: tuple[Dimension, ...]
    boxes: Boxes
    is_box: bool = classes.field(default=False, eq=False)  # was written as one, joined by `&` only

    def along(self, dim: Dimension) -> UnitRange:
        """Return the range of a box along a dimension; every index for other regions."""
        if not self.is_box or dim not in self.dims:
            return UnitRange.infinite()
        return self.boxes[0][dim].unit_range if self.boxes else UnitRange(0, 0)

    def __and__(self, other: Region | Domain) -> Region:
        other = as_region(other)
        dims = in_canonical_order((*self.dims, *other.dims))
        met = (a & b for a in self.boxes for b in other.boxes)
        boxes = tuple(box for box in met if not box.is_empty())
        return Region(dims, boxes, self.is_box and other.is_box)

    __rand__ = __and__

    def __or__(self, other: Region | Domain) -> Region:
        other = as_region(other)
        dims = in_canonical_order((*self.dims, *other.dims))
        mine, others = _widened(self.boxes, dims), _widened(other.boxes, dims)
        return Region(dims, _joined((*mine, *without(others, mine))))

    __ror__ = __or__

    def __str__(self) -> str:
        names = ", ".join(dim.value for dim in self.dims)
        boxes = [" x ".join(map(str, box.ranges)) for box in self.boxes]
        return f"{' or '.join(boxes) or 'nowhere'} along {names}"


def as_region(given: object) -> Region:
    """Return the region of a domain such as `K < n`."""
    if isinstance(given, Region):
        return given
    if not isinstance(given, Domain) or not given.ndim:
        raise ArgumentError(
            f"Expected a condition on a dimension such as 'K < 3', got '{given!r}'.",
            hints=["Where the condition is a field, use 'where'."],
        )
    if any(dim.kind is DimensionKind.LOCAL for dim in given.dims):
        raise ArgumentError(f"A region cannot be bounded along a local dimension, got '{given}'.")
    whole = Domain(*((dim, None) for dim in in_canonical_order(given.dims)))
    box = whole & given
    return Region(box.dims, () if box.is_empty() else (box,), is_box=True)


def outside(region: Region) -> Region:
    """Return the rest of space; that of a box with one side is a box."""
    everything = Domain(*((dim, None) for dim in region.dims))
    sides = [side for box in region.boxes for own in box.ranges for side in _sides(own)]
    is_box = region.is_box and len(region.dims) == len(sides) == 1
    return Region(region.dims, _joined(without((everything,), region.boxes)), is_box)


def _sides(own: UnitRange) -> list[object]:
    return [end for end in (own.start, own.stop) if isinstance(end, int)]


def _widened(boxes: Boxes, dims: tuple[Dimension, ...]) -> Boxes:
    everything = Domain(*((dim, None) for dim in dims))
    return tuple(everything & box for box in boxes)


def without(boxes: Boxes, holes: Iterable[Domain]) -> Boxes:
    """Return disjoint boxes that cover what `holes` leave of some disjoint boxes."""
    for hole in holes:
        boxes = tuple(part for box in boxes for part in _cut(box, hole))
    return boxes


def _cut(box: Domain, hole: Domain) -> list[Domain]:
    """Return what is left of a box: slabs below and above the hole, dimension by dimension."""
    met = box & hole
    if met.is_empty():
        return [box]
    parts: list[Domain] = []
    for (dim, own), inner in zip(box, met.ranges, strict=True):
        below, above = UnitRange(own.start, inner.start), UnitRange(inner.stop, own.stop)
        parts += [box.replace(dim, NamedRange(dim, rest)) for rest in (below, above) if rest]
        box = box.replace(dim, NamedRange(dim, inner))
    return parts


def _joined(boxes: Boxes) -> Boxes:
    """Merge adjacent boxes along the only dimension; leave boxes of several dimensions."""
    if not boxes or boxes[0].ndim > 1:
        return boxes
    joined: list[Domain] = []
    for box in sorted(boxes, key=lambda box: box.ranges[0].start):
        if joined and joined[-1].ranges[0].stop == box.ranges[0].start:
            joined.append(joined.pop() | box)
        else:
            joined.append(box)
    return tuple(joined)
