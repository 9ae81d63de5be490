"""Displace values of embedded execution by a field of offsets: data-dependent shifts.

The value of a displacement beyond the field is undefined, but always read from inside the array;
in a checked program it is NaN. Bounds may be far apart: only indices whose values differ are read
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..fields import check_codomain, extents, first, make, reordered, values_of, view_on
from ..language import (
    CartesianConnectivity,
    Dimension,
    Displacement,
    Domain,
    Infinity,
    NamedRange,
    UnitRange,
    in_canonical_order,
)
from .piecewise_field import AnyValue, Piece, assembled, nothing, pieces_of
from .provenance import is_checking
from .strips import Strip, strips


def displaced(value: AnyValue, displacement: Displacement) -> AnyValue:
    """Return the values at `i + by(i)`, in as many pieces as needed."""
    dim, by = displacement.dim, displacement.by
    check_codomain(value.domain, CartesianConnectivity(dim))
    pieces = []
    window = _window(value, dim)
    for given in pieces_of(by):
        for part, tail in _with_ends(given, dim, value):
            reach = _clamped(_reach(part, dim), window)
            for strip in strips(value, dim, reach) if reach else ():
                for one, alike in _by_stretches(part, dim, strip):
                    piece, same = _moved(strip, one, dim, window), tail or alike
                    if not piece.box.is_empty():
                        pieces.append(_repeated(piece, dim, same) if same else piece)
    if not pieces:
        dims = in_canonical_order((*value.domain.dims, *by.domain.dims))
        return nothing(dims, value.dtype.dtype, value.domain, by.domain)
    return assembled(pieces)


def _with_ends(
    by: Piece, dim: Dimension, value: AnyValue
) -> Iterator[tuple[Piece, UnitRange | None]]:
    """Yield offsets with ends along `dim`, where they may lead to some of `value`.

    What is infinite is constant along `dim`, but for a finite part. One index then stands for a
    whole tail, which comes with it.
    """
    own, values, given = by.box[dim].unit_range, values_of(by.field), value.domain[dim].unit_range
    if own.is_finite() or not values.size:
        yield by, None
        return
    least, most = int(values.min()), int(values.max())
    own &= UnitRange(given.start - most, given.stop - least)
    ranges = [own, *(piece.box[dim].unit_range for piece in pieces_of(value))]
    edges = [edge for one in ranges for edge in (one.start, one.stop) if isinstance(edge, int)]
    low = min(edges, default=0) - max(most, 0)
    high = max(edges, default=0) - min(least, 0)
    tails = [UnitRange(Infinity.NEGATIVE, low) & own, UnitRange(high, Infinity.POSITIVE) & own]
    for indices, tail in [
        (UnitRange(low, high) & own, None),
        (UnitRange(low - 1, low) & own, tails[0]),
        (UnitRange(high, high + 1) & own, tails[1]),
    ]:
        if indices:
            yield _part(by, dim, indices), tail


def _by_stretches(
    by: Piece, dim: Dimension, strip: Strip
) -> Iterator[tuple[Piece, UnitRange | None]]:
    """Yield parts of offsets; one index stands for a range that only reads one stretch.

    Offsets that vary along `dim` are one part: they have an array of all their indices.
    """
    own, values = by.box[dim].unit_range, values_of(by.field)
    if by.field.domain[dim].unit_range.is_finite():
        yield by, None
        return
    least, most, begin = int(values.min()), int(values.max()), first(own)
    around = strip.domain[dim].unit_range
    for stretch in (
        UnitRange(Infinity.NEGATIVE, around.start),
        *(one + first(around) for one in strip.stretches),
        UnitRange(around.stop, Infinity.POSITIVE),
    ):
        alike = UnitRange(stretch.start - least, stretch.stop - most) & own
        if alike:
            before = UnitRange(begin, alike.start)
            if before:
                yield _part(by, dim, before), None
            yield _part(by, dim, alike[:1]), alike
            begin = first(alike) + len(alike)
    rest = UnitRange(begin, own.stop)
    if rest:
        yield _part(by, dim, rest), None


def _part(by: Piece, dim: Dimension, indices: UnitRange) -> Piece:
    return Piece(by.box.replace(dim, NamedRange(dim, indices)), by.field)


def _repeated(piece: Piece, dim: Dimension, tail: UnitRange) -> Piece:
    """Return values at one index of `dim` as those of a whole range."""
    box, axes = (
        domain.replace(dim, NamedRange(dim, indices))
        for domain, indices in ((piece.box, tail), (piece.field.domain, UnitRange.infinite()))
    )
    return Piece(box, make(values_of(piece.field), axes))


def _reach(by: Piece, dim: Dimension) -> UnitRange | None:
    """Return the range of indices that a displacement may lead to."""
    own, values = by.box[dim].unit_range, values_of(by.field)
    if not values.size:
        return None
    start = first(own) + min(int(values.min()), 0)
    return UnitRange(start, first(own) + len(own) + max(int(values.max()), 0))


def _window(value: AnyValue, dim: Dimension) -> UnitRange:
    """Return a range that has all of a value that varies: one index beyond its outermost edges."""
    ranges = [piece.box[dim].unit_range for piece in pieces_of(value)]
    edges = [edge for one in ranges for edge in (one.start, one.stop) if isinstance(edge, int)]
    return UnitRange(min(edges, default=0) - 1, max(edges, default=0) + 1)


def _clamped(reach: UnitRange | None, window: UnitRange) -> UnitRange | None:
    """Return the range whose indices are those of `reach`, each led to the nearest of `window`."""
    if reach is None:
        return None
    low, high = first(window), first(window) + len(window)
    start, stop = first(reach), first(reach) + len(reach)
    return UnitRange(min(max(start, low), high - 1), max(min(stop, high), low + 1))


def _moved(strip: Strip, by: Piece, dim: Dimension, window: UnitRange) -> Piece:
    """Read a strip at `i + by(i)`, clamped to its ends."""
    rest = strip.box & by.box.pop(dim)
    dims = in_canonical_order((*strip.domain.dims, *by.box.dims))
    box = Domain(*((by.box if one is dim else rest)[one] for one in dims))
    if box.is_empty():
        return Piece(box, make(np.zeros(extents(box), strip.array.dtype), box))
    known = [dict(strip.domain), dict(by.field.domain)]
    varies = [one is dim or any(one in d and d[one].is_finite() for d in known) for one in dims]
    axes = Domain(*((one, r if v else None) for (one, r), v in zip(box, varies, strict=True)))
    moved = view_on(values_of(by.field), by.field.domain, axes)
    ahead = first(window) - first(strip.domain[dim].unit_range)
    asked = np.clip(_places(strip.domain[dim], axes) + moved, ahead, ahead + len(window) - 1)
    inside = np.clip(asked, 0, len(strip.domain[dim].unit_range) - 1)
    read = strip.places(inside)
    places = tuple(read if own.dim is dim else _places(own, axes) for own in strip.domain)
    array = strip.array[places]
    if is_checking() and array.dtype.kind == "f":
        array = np.where(asked == inside, array, np.nan).astype(array.dtype)
    return Piece(box, make(array, axes))


def _places(own: NamedRange, axes: Domain) -> Any:
    """Return the indices along one axis of a strip for every point of `axes`, by broadcasting."""
    dim, indices = own
    if not indices.is_finite():
        return 0
    wanted = axes[dim].unit_range
    ahead = first(wanted) - first(indices)
    return reordered(np.arange(ahead, ahead + len(wanted)), (dim,), axes.dims)
