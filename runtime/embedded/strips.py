"""Lay the pieces of a value out along one dimension, so that any index there can be read.

A stretch of indices with one value, or with none, is one element: bounds may be far apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..fields import extents, first, values_of, view_on
from ..language import Dimension, Domain, NamedRange, UnitRange
from ..process import classes
from .piecewise_field import AnyValue, Piece, hull, narrowed, pieces_of


@classes.frozen(eq=False)
class Strip:
    """An array over a contiguous range of one dimension, on a box of the others.

    `box` lacks the dimension. `domain` are the axes of the values, infinite where they are constant
    (never along the dimension). The indices of a stretch, counted from the first index of the
    strip, share one element of `array`. `have` says which elements are values, None for all.
    """

    box: Domain
    array: Any
    domain: Domain
    have: Any = None
    stretches: tuple[UnitRange, ...] = ()

    def places(self, indices: Any) -> Any:
        """Return where in the array indices stand, counted from the first one of the strip."""
        shared = (np.clip(indices - first(one), 0, len(one) - 1) for one in self.stretches)
        return indices - sum(shared)

    def spread(self, dim: Dimension) -> Strip:
        """Return the strip with an element for each index."""
        if not self.stretches:
            return self
        axis, count = self.domain.dim_index(dim, False), len(self.domain[dim].unit_range)
        places = self.places(np.arange(count))
        have = None if self.have is None else self.have[places]
        return Strip(self.box, self.array.take(places, axis=axis), self.domain, have)


def strips(value: AnyValue, dim: Dimension, span: UnitRange) -> Iterator[Strip]:
    """Yield the parts of a value within a finite range of `dim`, as strips on boxes of the rest.

    The boxes do not overlap; where one has nothing within the range it is left out.
    """
    pieces = pieces_of(value)
    for box in _cells([piece.box.pop(dim) for piece in pieces]):
        parts = []
        for piece in pieces:
            own, wanted = piece.box[dim].unit_range, piece.box.pop(dim)
            near = own & span
            if not near.is_empty() and (wanted & box) == box:
                place = piece.box.dim_index(dim, False)
                part = box.insert(place, NamedRange(dim, near))
                parts.append(Piece(part, narrowed(piece.field, part)))
        if parts:
            yield _strip(box, parts, dim)


def _strip(box: Domain, parts: Sequence[Piece], dim: Dimension) -> Strip:
    whole = hull([part.box for part in parts])
    own = whole[dim].unit_range
    ranges = []
    for named in whole:
        constant = all(not part.field.domain[named.dim].unit_range.is_finite() for part in parts)
        is_infinite = constant and named.dim is not dim
        ranges.append(NamedRange(named.dim, UnitRange.infinite()) if is_infinite else named)
    domain = Domain(*ranges)
    stretches = tuple(one - first(own) for one in _stretches(parts, dim))
    if len(parts) == 1:
        return Strip(box, values_of(parts[0].field), domain, None, stretches)
    made = Strip(box, None, domain, None, stretches)
    packed = domain.replace(dim, NamedRange(dim, UnitRange(0, int(made.places(len(own))))))
    array = np.zeros(extents(packed), values_of(parts[0].field).dtype)
    have = np.zeros(len(packed[dim].unit_range), np.bool_)
    for part in parts:
        near = part.box[dim].unit_range
        start, last = (int(made.places(index - first(own))) for index in (near[0], near[-1]))
        target = packed.replace(dim, NamedRange(dim, UnitRange(start, last + 1)))
        view_on(array, packed, target)[...] = view_on(
            values_of(part.field), part.field.domain, domain.replace(dim, NamedRange(dim, near))
        )
        have[start : last + 1] = True
    return classes.evolve(made, array=array, have=None if have.all() else have)


def _stretches(parts: Sequence[Piece], dim: Dimension) -> Iterator[UnitRange]:
    """Yield the ranges of `dim` in which the values of parts are constant, or lack."""
    ordered = sorted(parts, key=lambda part: first(part.box[dim].unit_range))
    stop = ordered[0].box[dim].unit_range.start
    for part in ordered:
        near = part.box[dim].unit_range
        if stop != near.start:
            yield UnitRange(stop, near.start)
        if not part.field.domain[dim].unit_range.is_finite():
            yield near
        stop = near.stop


def _cells(boxes: Sequence[Domain]) -> Iterator[Domain]:
    """Yield the cells of the grid that the edges of boxes make, of which every box is a union."""
    if all(box == boxes[0] for box in boxes):
        yield boxes[0]
        return
    cuts = []
    for dim in boxes[0].dims:
        ranges = [box[dim].unit_range for box in boxes]
        edges = sorted({edge for own in ranges for edge in (own.start, own.stop)})
        cuts.append([NamedRange(dim, UnitRange(a, b)) for a, b in itertools.pairwise(edges)])
    for cell in itertools.product(*cuts):
        yield Domain(*cell)
