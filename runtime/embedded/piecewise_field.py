"""Piecewise fields: several pieces, each on its own box, as `concat_where` and gathers make them.

A piece may be constant along an axis, as an `UnboundedField` is, and its box finite or
infinite there. Operations work piece by piece on the intersections of boxes; where all
pieces fill one finite box they become a `Field` again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..fields import (
    ActiveField,
    AnyField,
    Field,
    Operators,
    UnboundedField,
    combined,
    make,
    reordered,
    restricted as restrict_field,
    shifted,
    values_of,
    view_on,
)
from ..language import (
    Dimension,
    DimensionKind,
    Domain,
    DType,
    NamedIndex,
    UnitRange,
    in_canonical_order,
    operations,
)
from ..process import EmbeddedExecutionError, IndexOutOfBounds, classes

_SMALL: Final = 4096  # elements of an array that pieces are always merged into


@classes.frozen(eq=False)
class Piece:
    """Values on a box: `field` covers it, and ends with it along every axis where it is finite."""

    box: Domain
    field: AnyField


class PiecewiseField(Operators):
    """A field with different values on different boxes, which do not overlap."""

    __slots__ = ("dims", "pieces")
    __fieldforge_field__ = True
    is_partial = False  # some values are not valid: a 'PartialField'

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = tuple(pieces)
        self.dims = self.pieces[0].box.dims

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.pieces[0].field.dtype

    @property
    def domain(self) -> Domain:
        """The smallest box around all pieces; there may be holes in it."""
        return hull([piece.box for piece in self.pieces])

    @property
    def ndarray(self) -> Any:
        """Raise an error: the domain has holes or is infinite."""
        raise EmbeddedExecutionError(
            f"The field has {len(self.pieces)} pieces, so it has no array.",
            hints=["Restrict it first, for instance 'f[domain({I: (0, 10)})]'."],
        )

    def restrict(self, index: Any) -> Any:
        """Return the part on a finite `Domain`, or at one index such as `E2CDim(0)`."""
        if isinstance(index, NamedIndex):
            met = [piece for piece in self.pieces if index.value in piece.box[index.dim].unit_range]
            if not met and index.dim.kind is DimensionKind.LOCAL:  # no neighbour lies in the field
                return nothing(self.domain.pop(index.dim).dims, self.dtype.dtype)
            if not met:
                raise IndexOutOfBounds(f"Index '{index}' is outside '{self}'.")
            return assembled(
                [Piece(piece.box.pop(index.dim), at_index(piece.field, index)) for piece in met]
            )
        wanted = Domain(*((dim, dict(index).get(dim, own)) for dim, own in self.domain))
        return on_box(self, wanted)

    __getitem__ = restrict

    def __call__(self, *connectivities: Any) -> Any:
        """Shift, as for a `Field`."""
        return PiecewiseField(
            [
                Piece(
                    shifted(piece.box, connectivities),
                    make(values_of(piece.field), shifted(piece.field.domain, connectivities)),
                )
                for piece in self.pieces
            ]
        )

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation where pieces of all operands meet."""
        for operand in operands:
            if isinstance(operand, PiecewiseField) and operand.is_partial:
                return operand.combined(op, operands, dtype)
        met: list[tuple[Domain, tuple[Any, ...]]] = [(Domain(), ())]
        for operand in operands:
            parts = pieces_of(operand) if isinstance(operand, Operators) else [operand]
            met = [
                (common, (*before, part))
                for box, before in met
                for part in parts
                if not (common := _met(box, part)).is_empty()
            ]
        pieces = [
            Piece(box, combined(op, *(_on(part, box) for part in parts), dtype=dtype))
            for box, parts in met
        ]
        return assembled(pieces) if pieces else _empty(op, operands, dtype)

    def __str__(self) -> str:
        boxes = "; ".join(
            ", ".join(f"{dim.value}={indices}" for dim, indices in piece.box)
            for piece in self.pieces
        )
        return f"PiecewiseField({boxes}; {self.dtype})"

    __repr__ = __str__


AnyValue: TypeAlias = Field | UnboundedField | PiecewiseField


def pieces_of(value: Any) -> tuple[Piece, ...]:
    """Return the pieces of any field; a whole field is a single piece."""
    if isinstance(value, PiecewiseField):
        return value.pieces
    return (Piece(value.domain, value),)


def mapped(function: Callable[[AnyField], AnyField], value: Any) -> Any:
    """Apply a function that adds, drops or reorders dimensions but changes no range."""
    if not isinstance(value, PiecewiseField):
        return function(value)
    made = []
    for piece in value.pieces:
        field = function(piece.field)
        own = dict(piece.box)
        made.append(
            Piece(Domain(*((dim, own.get(dim, found)) for dim, found in field.domain)), field)
        )
    return assembled(made)


def narrowed(field: AnyField, box: Domain) -> AnyField:
    """Return the part of a field on `box`, still infinite where it is constant."""
    kept = Domain(
        *((dim, box[dim].unit_range if own.is_finite() else own) for dim, own in field.domain)
    )
    return (
        field if kept == field.domain else make(view_on(values_of(field), field.domain, kept), kept)
    )


def widened(field: AnyField, dims: Iterable[Dimension]) -> AnyField:
    """Return the field repeated along `dims` that it lacks; `dims` include all its own."""
    own = dict(field.domain)
    domain = Domain(*((dim, own.get(dim, UnitRange.infinite())) for dim in dims))
    if domain == field.domain:
        return field
    return make(reordered(values_of(field), field.domain.dims, domain.dims), domain)


def at_index(field: AnyField, index: NamedIndex) -> AnyField:
    """Return the part at one index, without the dimension."""
    return field.restrict(index)


def cut(pieces: Iterable[Piece], boxes: Iterable[Domain]) -> list[Piece]:
    """Return the parts of pieces in boxes, which name no dimensions but those of the pieces."""
    made = []
    for piece in pieces:
        for box in boxes:
            met = _met(piece.box, box)
            if not met.is_empty():
                made.append(Piece(met, narrowed(piece.field, met)))
    return made


def assembled(pieces: Sequence[Piece]) -> AnyValue:
    """Return pieces as one value: a single array if they fill a box that is not too large."""
    whole = hull([piece.box for piece in pieces])
    if len(pieces) == 1 and pieces[0].field.domain == whole:
        return pieces[0].field
    finite = [piece for piece in pieces if piece.box.is_finite()]
    infinite = [piece for piece in pieces if not piece.box.is_finite()]
    joined = _joined(finite)
    if joined is None:
        return PiecewiseField(pieces)
    return PiecewiseField([Piece(joined.domain, joined), *infinite]) if infinite else joined


def on_box(value: AnyValue, box: Domain) -> Field | ActiveField:
    """Return a field on a finite box that it must cover, with the axes in the order of `box`."""
    if not isinstance(value, PiecewiseField):
        return restrict_field(value, box)
    missing = gap(value, box)
    if missing is not None:
        raise IndexOutOfBounds(f"'{value}' has no value at '{missing}'.")
    return _filled(box, value.pieces)


def gap(value: AnyValue, box: Domain) -> str | None:
    """Return the first point of a finite box without a value, None if the field covers the box."""
    mets = [box & piece.box for piece in pieces_of(value)]
    if sum(math.prod(met.shape) for met in mets) == math.prod(box.shape):
        return None
    have = np.zeros(box.shape, np.bool_)
    for met in mets:
        if not met.is_empty():
            view_on(have, box, Domain(*(met[dim] for dim in box.dims)))[...] = True
    place = np.unravel_index(int(have.argmin()), have.shape)
    first_missing = zip(box, place, strict=True)
    return ", ".join(f"{dim.value}={own[int(at)]}" for (dim, own), at in first_missing)


def hull(boxes: Sequence[Domain]) -> Domain:
    """Return the smallest box around others with the same dimensions; empty ones do not count."""
    full = [box for box in boxes if not box.is_empty()] or list(boxes)
    ranges = []
    for dim in full[0].dims:
        along = [box[dim].unit_range for box in full]
        start, stop = along[0].start, along[0].stop
        for one in along[1:]:
            start = one.start if one.start < start else start
            stop = one.stop if one.stop > stop else stop
        ranges.append((dim, UnitRange(start, stop)))
    return Domain(*ranges)


def _joined(pieces: Sequence[Piece]) -> Field | ActiveField | None:
    """Write finite pieces into one array if they fill a box, and it is not much more memory."""
    if not pieces:
        return None
    box = hull([piece.box for piece in pieces])
    size = math.prod(box.shape)
    held = sum(values_of(piece.field).size for piece in pieces)
    if size != sum(math.prod(piece.box.shape) for piece in pieces) or size > 2 * held + _SMALL:
        return None
    return _filled(box, pieces)


def _filled(box: Domain, pieces: Sequence[Piece]) -> Field | ActiveField:
    """Write the values of pieces on a finite box into one array."""
    array = np.empty(box.shape, values_of(pieces[0].field).dtype)
    for piece in pieces:
        met = Domain(*((dim, own & piece.box[dim].unit_range) for dim, own in box))
        if not met.is_empty():
            part = view_on(array, box, met)
            part[...] = view_on(values_of(piece.field), piece.field.domain, met)
    made = make(array, box)
    assert isinstance(made, Field | ActiveField)  # the box is finite
    return made


def _met(box: Domain, part: Any) -> Domain:
    match part:
        case Piece():
            return box & part.box
        case Domain():
            return box & part
    return box  # a number is everywhere


def _on(part: Any, box: Domain) -> Any:
    return narrowed(part.field, box) if isinstance(part, Piece) else part


def nothing(dims: Iterable[Dimension], dtype: np.dtype[Any], *given: Domain) -> AnyField:
    """Return an empty field; its local dimensions are as in `given`, with ends if one has some."""
    slots: dict[Dimension, UnitRange] = {}
    for dim, own in (each for box in given for each in box):
        if dim.kind is DimensionKind.LOCAL and (own.is_finite() or dim not in slots):
            slots[dim] = own
    box = Domain(*((dim, slots.get(dim, UnitRange(0, 0))) for dim in dims))
    return make(np.zeros([len(own) if own.is_finite() else 1 for _, own in box], dtype), box)


def _empty(op: str, operands: Sequence[Any], dtype: str | None) -> AnyField:
    """Return the empty result of an operation on fields without a common point."""
    fields = [operand for operand in operands if isinstance(operand, AnyValue)]
    dims = in_canonical_order(dim for field in fields for dim in field.domain.dims)
    samples = [
        np.zeros((), operand.dtype.dtype) if isinstance(operand, AnyValue) else operand
        for operand in operands
    ]
    kind = np.dtype(dtype) if dtype else operations.apply(op, *samples).dtype
    return nothing(dims, kind, *(field.domain for field in fields))
