"""Extents: on which boxes a statement needs each value, and how far around them.

A need is a set of *extents*: for each area, how far before its start and beyond its stop a value is
needed in each dimension. Extents are integers, so the walk through shifts takes linear time; an
area is a symbolic box that exists once.

The part of a region may be empty in a call. If the numbers of the call are known, `Areas` omits an
empty area; a symbolic hull includes it, and may be larger than the call needs. With `gates` such an
area begins far after its end where it is empty, so that hulls are exact.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension, DimensionKind
from ....runtime.process import classes
from ...ir import bounds
from ...ir.dataflow import Bound, Const, Range, Ranges, Side
from ...ir.gates import far_unless
from ...ir.settled import settled

Extent: TypeAlias = tuple[tuple[int, int], ...]  # (before the start, beyond the stop) of each dim
Need: TypeAlias = dict[int, Extent]  # keyed by the number of the area
Dims: TypeAlias = tuple[Dimension, ...]

MOST_AREAS: Final = 8


class Firmness(enum.Enum):
    """Whether the points of an area must exist.

    HARD   they must; an operand below a `where` may still become soft
    SOFT   they need not: they reach the store only through one side of a `where`
    FIRM   they must, and so must all that they are computed from: arguments of scans, indices
    """

    HARD = "hard"
    SOFT = "soft"
    FIRM = "firm"


@classes.frozen
class Area:
    """A box on which values are needed.

    `certain` tells that the box is not empty if its statement writes anything, `pointwise` that no
    access on the way to it moved to another point, `firmness` whether its points must exist. Along
    `loose` dimensions a displacement reads inside of what exists, so no single index must; an area
    that is `narrowed` to what exists may be empty for that reason.
    """

    ranges: Ranges
    certain: bool = True
    pointwise: bool = True
    firmness: Firmness = Firmness.HARD
    loose: Dims = ()
    narrowed: bool = False

    def __getitem__(self, dim: Dimension) -> Range:
        return next(each for each in self.ranges if each.dim is dim)


@classes.frozen
class Areas:
    """Number the distinct areas, and turn needs into symbolic boxes.

    `resolve` replaces bounds by numbers if the call is known. With `loosens` areas know what a
    displacement reads. With `gates` an area that may be empty begins far after its end if it is.
    """

    resolve: Callable[[Bound], Bound] = lambda bound: bound
    loosens: bool = False
    gates: bool = False
    _areas: list[Area] = classes.field(factory=list)
    _numbers: dict[Area, int | None] = classes.field(factory=dict)
    _hulls: dict[tuple[object, ...], Ranges] = classes.field(factory=dict)
    _made: dict[tuple[object, ...], int | None] = classes.field(factory=dict)

    def __getitem__(self, number: int) -> Area:
        return self._areas[number]

    def number(self, area: Area) -> int | None:
        """Return the number of an area; None if the area is known to be empty."""
        if area not in self._numbers:
            is_empty = bounds.is_empty_box(area.ranges)
            self._numbers[area] = None if is_empty else len(self._areas)
            self._areas.extend([area] * (not is_empty))
        return self._numbers[area]

    def _unless_empty(self, area: Area, unsure: Sequence[Range]) -> int | None:
        """Return the number of an area that exists only if none of some ranges is empty."""
        if not self.gates or not unsure or bounds.is_empty_box(area.ranges):
            return self.number(area)
        return self.number(_gated(area, unsure))

    def replaced(
        self, number: int, dim: Dimension, new: Range, may_be_empty: bool = False
    ) -> int | None:
        """Return the area with another range along `dim`; it is no longer pointwise."""
        key = (number, dim, new)
        if key not in self._made:
            area = self._areas[number]
            ranges = tuple(new if each.dim is dim else each for each in area.ranges)
            loose = tuple(each for each in area.loose if each is not dim)
            made = classes.evolve(area, ranges=ranges, pointwise=False, loose=loose)
            unsure = [*[area[dim]] * (not area.certain), *[new] * may_be_empty]
            self._made[key] = self._unless_empty(made, unsure)
        return self._made[key]

    def loosened(self, number: int, dim: Dimension) -> int:
        """Return the area as one that a displacement along `dim` reads."""
        area = self._areas[number]
        if not self.loosens or dim in area.loose:
            return number
        made = self.number(classes.evolve(area, loose=(*area.loose, dim)))
        assert made is not None  # the area is as full as the old one
        return made

    def added(self, number: int, slots: Range) -> int:
        """Return the area with some slots of a local dimension, or one index of another."""
        kept = (each for each in self._areas[number].ranges if each.dim is not slots.dim)
        made = self._with(number, (*kept, slots))
        if slots.dim.kind is DimensionKind.LOCAL:
            return made
        moved = self.number(classes.evolve(self._areas[made], pointwise=False))
        assert moved is not None  # the area is as full as the old one
        return moved

    def renamed(self, number: int, dim: Dimension, new: Dimension) -> int:
        """Return the area with `new` in place of `dim`."""
        if new is dim:
            return number
        area = self._areas[number]
        return self._with(
            number,
            tuple(
                classes.evolve(each, dim=new) if each.dim is dim else each for each in area.ranges
            ),
            tuple(new if each is dim else each for each in area.loose),
        )

    def _with(self, number: int, ranges: Ranges, loose: Dims | None = None) -> int:
        area = self._areas[number]
        kept = area.loose if loose is None else loose
        made = self.number(classes.evolve(area, ranges=ranges, loose=kept))
        assert made is not None  # the renamed area is empty exactly where the old one is
        return made

    def cut(self, dims: Dims, need: Need, box: tuple[Side, ...], narrows: bool = False) -> Need:
        """Return the part of the need of one area that lies inside a box of a region.

        With `narrows` the box is what exists of a value.
        """
        ((number, extent),) = need.items()
        area = self._areas[number]
        ranges = {each.dim: each for each in area.ranges}
        kept, moved, unsure = list(extent), False, []
        for side in box:
            axis = dims.index(side.dim)
            first = start = bounds.add(ranges[side.dim].start, extent[axis][0])
            last = stop = bounds.add(ranges[side.dim].stop, extent[axis][1])
            if side.start is not None:
                start = bounds.maximum(start, self.resolve(side.start))
            if side.stop is not None:
                stop = bounds.minimum(stop, self.resolve(side.stop))
            ranges[side.dim] = Range(side.dim, start, stop)
            kept[axis] = (0, 0)
            moved |= extent[axis] != (0, 0)
            if (start, stop) != (first, last) and bounds.difference(stop, start) is None:
                unsure.append(ranges[side.dim])
        made = self._unless_empty(
            classes.evolve(
                area,
                ranges=tuple(ranges[each.dim] for each in area.ranges),
                certain=False,
                pointwise=area.pointwise and not moved,
                narrowed=area.narrowed or (narrows and bool(unsure)),
            ),
            unsure,
        )
        return {} if made is None else {made: tuple(kept)}

    def joined(self, dims: Dims, need: Need) -> Need:
        """Return the need as extents around a single area for each firmness and looseness."""
        if len(need) <= 1:
            return need
        joined: Need = {}
        for (firmness, loose), part in self.kinds(need).items():
            if len(part) == 1:
                joined |= part
                continue
            certain = any(self._areas[number].certain for number in part)
            still = self.is_pointwise(part)
            narrowed = any(self._areas[number].narrowed for number in part)
            whole = self.of(dims, part)
            made = self.number(Area(whole, certain, still, firmness, loose, narrowed))
            joined |= {} if made is None else {made: ((0, 0),) * len(dims)}
        return joined

    def kinds(self, need: Need) -> dict[tuple[Firmness, Dims], Need]:
        """Return the parts of a need that are alike firm and loose."""
        parts: dict[tuple[Firmness, Dims], Need] = {}
        for firmness in Firmness:
            for number, extent in need.items():
                area = self._areas[number]
                if area.firmness is firmness:
                    parts.setdefault((firmness, area.loose), {})[number] = extent
        return parts

    def softened(self, need: Need) -> Need:
        """Return the need of a branch of `where`: soft unless it is firm."""
        return self._with_firmness(need, {Firmness.HARD: Firmness.SOFT})

    def firm(self, need: Need) -> Need:
        """Return the need of operands that must exist wherever the value is computed."""
        return self._with_firmness(need, dict.fromkeys(Firmness, Firmness.FIRM))

    def hard(self, need: Need) -> Need:
        """Return the part of a need that must exist."""
        return {n: extent for n, extent in need.items() if self[n].firmness is not Firmness.SOFT}

    def _with_firmness(self, need: Need, other: Mapping[Firmness, Firmness]) -> Need:
        changed: Need = {}
        for number, extent in need.items():
            old = self._areas[number]
            made: int | None = number
            if other.get(old.firmness, old.firmness) is not old.firmness:
                made = self.number(classes.evolve(old, firmness=other[old.firmness]))
            assert made is not None  # the area is as full as the old one
            widen(changed, {made: extent})
        return changed

    def is_pointwise(self, need: Need) -> bool:
        """Tell whether only the written points are needed."""
        still = not any(any(ends) for extent in need.values() for ends in extent)
        return still and all(self._areas[number].pointwise for number in need)

    def of(self, dims: Dims, need: Need) -> Ranges:
        """Return the smallest box around all extents; an empty box if nothing is needed."""
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
            # the areas of one statement usually differ along few dimensions
            ends: dict[Range, tuple[int, int]] = {}
            for number, extent in need.items():
                asked, (before, beyond) = self._areas[number][dim], extent[axis]
                low, high = ends.get(asked, (before, beyond))
                ends[asked] = (min(low, before), max(high, beyond))
            ends = _with_slots_joined(ends)
            starts = (bounds.add(each.start, low) for each, (low, _) in ends.items())
            stops = (bounds.add(each.stop, high) for each, (_, high) in ends.items())
            yield Range(dim, bounds.least(starts), bounds.greatest(stops))


def widen(need: Need, more: Need) -> None:
    """Grow `need` to the hull of `need` and another need."""
    for number, extent in more.items():
        old = need.get(number)
        if old is None:
            need[number] = extent
        elif old != extent:
            need[number] = tuple(
                (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, extent, strict=True)
            )


def _with_slots_joined(ends: dict[Range, tuple[int, int]]) -> dict[Range, tuple[int, int]]:
    """Join what several slots of the same rows of a table name, with equal extents around it."""
    joined: dict[Range, tuple[int, int]] = {}
    for given, around in ends.items():
        whole = given
        for other, other_around in joined.items():
            both = bounds.of_any_slot(given, other) if around == other_around else None
            if both is not None:
                del joined[other]
                whole = both
                break
        joined[whole] = around
    return joined


def _gated(area: Area, unsure: Sequence[Range]) -> Area:
    """Return an area that begins far after its end if one of some ranges is empty."""
    far = far_unless((each.start, each.stop) for each in unsure)
    ranges = tuple(
        each
        if each.dim.kind is DimensionKind.LOCAL
        else Range(
            each.dim, settled(bounds.add(each.start, far)), settled(bounds.subtract(each.stop, far))
        )
        for each in area.ranges
    )
    return classes.evolve(area, ranges=ranges, certain=False)
