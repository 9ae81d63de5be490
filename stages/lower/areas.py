"""Where values are needed: boxes, and how far around each of them.

A need is kept as *extents*: for each area that leads to it, how far before the start and
beyond the stop of that area a value is needed, dimension by dimension. That takes integers
only, so the walk through shifts is linear; an area is a symbolic box, made once.

What a region asks for may be empty at a call. Where the numbers of a call are known such an area is
left out; a symbolic hull is made as if it were not, and may be larger than what a call needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from ...runtime.language.dimension import Dimension
from ..ir import bounds
from ..ir.bounds import Bound, Const, Range, Ranges
from ..ir.dataflow import Side

Extent: TypeAlias = tuple[tuple[int, int], ...]  # (before the start, beyond the stop) of each dim
Need: TypeAlias = dict[int, Extent]  # by the number of the area
Dims: TypeAlias = tuple[Dimension, ...]

MOST_AREAS: Final = 8


@attrs.frozen
class Area:
    """A box that is asked for.

    `certain` tells that it is not empty where its statement writes something, `pointwise` that it
    was reached without leaving the point.
    """

    ranges: Ranges
    certain: bool = True
    pointwise: bool = True

    def __getitem__(self, dim: Dimension) -> Range:
        return next(each for each in self.ranges if each.dim is dim)


@attrs.frozen
class Areas:
    """Numbers areas, each different one once, and turns needs to symbolic boxes.

    `resolve` makes numbers of bounds where a call is known.
    """

    resolve: Callable[[Bound], Bound] = lambda bound: bound
    _areas: list[Area] = attrs.field(factory=list)
    _numbers: dict[Area, int | None] = attrs.field(factory=dict)
    _hulls: dict[tuple[object, ...], Ranges] = attrs.field(factory=dict)
    _made: dict[tuple[object, ...], int | None] = attrs.field(factory=dict)

    def __getitem__(self, number: int) -> Area:
        return self._areas[number]

    def number(self, area: Area) -> int | None:
        """Return the number of an area; None for one that is known to be empty."""
        if area not in self._numbers:
            is_empty = any(map(_is_empty, area.ranges))
            self._numbers[area] = None if is_empty else len(self._areas)
            self._areas.extend([area] * (not is_empty))
        return self._numbers[area]

    def replaced(self, number: int, dim: Dimension, new: Range) -> int | None:
        """Return the area with another range for that of `dim`, away from the point."""
        key = (number, dim, new)
        if key not in self._made:
            area = self._areas[number]
            ranges = tuple(new if each.dim is dim else each for each in area.ranges)
            self._made[key] = self.number(attrs.evolve(area, ranges=ranges, pointwise=False))
        return self._made[key]

    def added(self, number: int, dim: Dimension) -> int:
        """Return the area with a local dimension, of which slot 0 is asked for."""
        kept = (each for each in self._areas[number].ranges if each.dim is not dim)
        return self._with(number, (*kept, Range(dim, Const(0), Const(1))))

    def renamed(self, number: int, dim: Dimension, new: Dimension) -> int:
        """Return the area with `new` in place of `dim`."""
        if new is dim:
            return number
        ranges = self._areas[number].ranges
        return self._with(
            number,
            tuple(attrs.evolve(each, dim=new) if each.dim is dim else each for each in ranges),
        )

    def _with(self, number: int, ranges: Ranges) -> int:
        made = self.number(attrs.evolve(self._areas[number], ranges=ranges))
        assert made is not None  # it is as empty as it was
        return made

    def cut(self, dims: Dims, need: Need, box: tuple[Side, ...]) -> Need:
        """Return the part of a need of one area inside a box of a region."""
        ((number, extent),) = need.items()
        area = self._areas[number]
        ranges = {each.dim: each for each in area.ranges}
        kept, moved = list(extent), False
        for side in box:
            axis = dims.index(side.dim)
            start = bounds.add(ranges[side.dim].start, extent[axis][0])
            stop = bounds.add(ranges[side.dim].stop, extent[axis][1])
            if side.start is not None:
                start = bounds.maximum(start, self.resolve(side.start))
            if side.stop is not None:
                stop = bounds.minimum(stop, self.resolve(side.stop))
            ranges[side.dim] = Range(side.dim, start, stop)
            kept[axis] = (0, 0)
            moved |= extent[axis] != (0, 0)
        inside = tuple(ranges[each.dim] for each in area.ranges)
        made = self.number(Area(inside, False, area.pointwise and not moved))
        return {} if made is None else {made: tuple(kept)}

    def joined(self, dims: Dims, need: Need) -> Need:
        """Return the same need around one area."""
        if len(need) <= 1:
            return need
        certain = any(self._areas[number].certain for number in need)
        made = self.number(Area(self.of(dims, need), certain, self.is_pointwise(need)))
        return {} if made is None else {made: ((0, 0),) * len(dims)}

    def is_pointwise(self, need: Need) -> bool:
        """Tell whether nothing is needed but the points that are written."""
        still = not any(any(ends) for extent in need.values() for ends in extent)
        return still and all(self._areas[number].pointwise for number in need)

    def of(self, dims: Dims, need: Need) -> Ranges:
        """Return the smallest box around all extents; an empty one where nothing is needed."""
        if not dims:
            return ()
        key = (dims, *need.items())
        if key not in self._hulls:
            self._hulls[key] = tuple(self._hull(dims, need))
        return self._hulls[key]

    def _hull(self, dims: Dims, need: Need) -> Iterator[Range]:
        for axis, dim in enumerate(dims):
            if not need:
                yield Range(dim, Const(0), Const(0))
                continue
            # areas of one statement mostly differ along few dimensions
            ends: dict[Range, tuple[int, int]] = {}
            for number, extent in need.items():
                asked, (before, beyond) = self._areas[number][dim], extent[axis]
                low, high = ends.get(asked, (before, beyond))
                ends[asked] = (min(low, before), max(high, beyond))
            starts = (bounds.add(each.start, low) for each, (low, _) in ends.items())
            stops = (bounds.add(each.stop, high) for each, (_, high) in ends.items())
            yield Range(dim, bounds.least(starts), bounds.greatest(stops))


def widen(need: Need, more: Need) -> None:
    """Grow `need` to the hull of both."""
    for number, extent in more.items():
        old = need.get(number)
        if old is None:
            need[number] = extent
        elif old != extent:
            need[number] = tuple(
                (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, extent, strict=True)
            )


def _is_empty(each: Range) -> bool:
    return bounds.is_empty(each.start, each.stop)
