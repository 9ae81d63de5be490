"""Lay the pieces of a value out along one dimension, so that any index there can be read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from ..fields.alignment import first, view_on
from ..fields.field import make, values_of
from ..language.dimension import Dimension
from ..language.domain import Domain, NamedRange
from ..language.ranges import UnitRange
from .piecewise_field import AnyValue, Piece, hull, narrowed, pieces_of


@attrs.frozen(eq=False)
class Strip:
    """An array over a contiguous range of one dimension, on a box of the others.

    `box` lacks the dimension. `domain` are the axes of the array, infinite where it is constant
    (never along the dimension). `have` says where there are values, None for everywhere.
    """

    box: Domain
    array: Any
    domain: Domain
    have: Any = None


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
                parts.append(_narrowed(piece, box.insert(place, NamedRange(dim, near)), near, dim))
        if parts:
            yield _strip(box, parts, dim)


def _narrowed(piece: Piece, box: Domain, near: UnitRange, dim: Dimension) -> Piece:
    """Cut a piece; repeat its values along `dim` where they are constant."""
    field = narrowed(piece.field, box)
    if field.domain[dim].unit_range.is_finite():
        return Piece(box, field)
    domain = field.domain.replace(dim, NamedRange(dim, near))
    return Piece(box, make(values_of(field), domain))


def _strip(box: Domain, parts: Sequence[Piece], dim: Dimension) -> Strip:
    if len(parts) == 1:
        field = parts[0].field
        return Strip(box, values_of(field), field.domain)
    whole = hull([part.box for part in parts])
    own = whole[dim].unit_range
    ranges = []
    for named in whole:
        constant = all(not part.field.domain[named.dim].unit_range.is_finite() for part in parts)
        ranges.append(NamedRange(named.dim, UnitRange.infinite()) if constant else named)
    domain = Domain(*ranges)
    shape = [len(r) if r.is_finite() else 1 for r in domain.ranges]
    array = np.zeros(shape, values_of(parts[0].field).dtype)
    have = np.zeros(len(own), np.bool_)
    for part in parts:
        near = part.box[dim].unit_range
        target = domain.replace(dim, NamedRange(dim, near))
        view_on(array, domain, target)[...] = view_on(
            values_of(part.field), part.field.domain, target
        )
        have[first(near) - first(own) : first(near) - first(own) + len(near)] = True
    return Strip(box, array, domain, None if have.all() else have)


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
