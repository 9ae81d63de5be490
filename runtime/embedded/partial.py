"""Partial fields: values that are valid at some points only.

`where(k < n, a(K + 1), 0.0)` has a value on the last level too, as long as the mask takes the other
side there; `a(E2C[1])` has none where that neighbour is missing. A partial field says what each
point lacks; a statement that writes a point without a valid value is refused. Operations, shifts,
gathers, reductions and scans pass this on. What must exist in any case (arguments of scans, indices
of `as_offset`) is cut to the points at which every read existed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..fields import AnyField, Operators, combined, context, extents, make, values_of
from ..language import Dimension, DimensionKind, Domain, DType, UnitRange, in_canonical_order
from ..language.regions import without
from .active_values import alike
from .origins import VALID, Choice, Origin
from .piecewise_field import (
    AnyValue,
    Piece,
    PiecewiseField,
    assembled,
    cut,
    mapped,
    nothing,
    pieces_of,
    widened,
)
from .provenance import place_of_call

EVERYWHERE: Final = UnitRange.infinite()


class PartialField(PiecewiseField):
    """A value that is valid at some points only.

    `lack` covers the points of `value` at least and holds 0 where that is valid, else the code of
    one of the `origins`. `sure` is true on the points at which all reads existed, whatever the
    masks took.
    """

    __slots__ = ("lack", "origins", "sure", "value")
    is_partial = True

    def __init__(
        self, value: AnyValue, lack: AnyValue, sure: AnyValue, origins: Sequence[Origin]
    ) -> None:
        self.value, self.lack, self.sure = value, lack, sure
        self.origins = tuple(dict.fromkeys(origins))
        self.dims = value.domain.dims

    @property
    def pieces(self) -> tuple[Piece, ...]:  # type: ignore[override]  # those of another value
        """The values, valid or not."""
        return pieces_of(self.value)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.value.dtype

    def each(self, function: Callable[[AnyValue], Any]) -> PartialField:
        """Apply a function to the values, to what they lack, and to the mask `sure`."""
        value, lack, sure = map(function, (self.value, self.lack, self.sure))
        return PartialField(value, lack, sure, self.origins)

    def restrict(self, index: Any) -> Any:
        """Return the part on a finite `Domain`, or at one index."""
        return self.each(lambda value: value.restrict(index))

    __getitem__ = restrict

    def __call__(self, *connectivities: Any) -> Any:
        """Shift, as for a `Field`."""
        return self.each(lambda value: value(*connectivities))

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation: the result is valid where all operands are."""
        if op == "select":
            return chosen(*operands)
        fields = [operand for operand in operands if isinstance(operand, Operators)]
        value = combined(op, *map(value_of, operands), dtype=dtype)
        return PartialField(value, *_all_lacks(fields), origins_of(fields))


def value_of(operand: Any) -> Any:
    """Return the values of a partial field; anything else as it is."""
    return operand.value if isinstance(operand, PartialField) else operand


def lack_of(operand: Any) -> AnyValue:
    """Return what the points of an operand lack; a whole field lacks nothing on its domain."""
    if isinstance(operand, PartialField):
        return operand.lack
    return _everywhere(np.int64(VALID), operand)


def sure_of(operand: Any) -> AnyValue:
    """Return where all reads of an operand exist."""
    if isinstance(operand, PartialField):
        return operand.sure
    return _everywhere(np.True_, operand)


def origins_of(operands: Sequence[Any]) -> tuple[Origin, ...]:
    """Return what made some operands partial."""
    return tuple(
        origin for each in operands if isinstance(each, PartialField) for origin in each.origins
    )


def lacking(value: AnyValue, other: PartialField) -> PartialField:
    """Return a value that is valid only where another is, too."""
    lack = combined("maximum", lack_of(value), other.lack)
    return PartialField(value_of(value), lack, sure_of(value), origins_of((value, other)))


def settled(value: AnyValue) -> AnyValue:
    """Return a partial field whose points are all valid as a whole one."""
    if not isinstance(value, PartialField) or value.sure.domain != value.value.domain:
        return value
    if any((values_of(piece.field) > VALID).any() for piece in pieces_of(value.lack)):
        return value
    return value.value


def required(value: Any) -> Any:
    """Return the part of a value at which every read existed, for uses without a mask."""
    if not isinstance(value, PartialField):
        return value
    pieces = cut(value.pieces, [piece.box for piece in pieces_of(value.sure)])
    return assembled(pieces) if pieces else nothing(value.dims, value.dtype.dtype, value.domain)


def chosen(mask: Any, then: Any, otherwise: Any) -> Any:
    """Return `where(mask, then, otherwise)`, on all points at which a side has a value."""
    operands = (mask, *alike(then, otherwise))
    if not context.active() or _have_same_points(operands):
        return combined("select", *operands)
    fields = [(each if isinstance(each, AnyValue) else make(each, Domain())) for each in operands]
    choice = _choice(fields)
    both, *sides = _parts(fields, choice)
    dims, slots = _dims_of(fields), _local_slots(fields)
    cuts = [(both, _boxes(both[0], dims, slots))]
    for side, other in zip(sides, (fields[2], fields[1]), strict=True):
        rest = without(_boxes(side[0], dims, slots), _boxes(other, dims, {}))
        cuts += [(side, rest)] if rest else []
    if len(cuts) == 1 and not any(isinstance(each, PartialField) for each in operands):
        return combined("select", *operands)
    value, lack = (
        [piece for part, boxes in cuts for piece in _on(part[place], dims, boxes)]
        for place in range(2)
    )
    if not value:
        return combined("select", *map(value_of, operands))
    sure = _all_lacks(fields)[1]
    made = PartialField(assembled(value), assembled(lack), sure, (*origins_of(fields), choice))
    return settled(made)


def _parts(fields: Sequence[AnyValue], choice: Choice) -> list[tuple[AnyValue, AnyValue]]:
    """Return value and lack of a choice where both sides exist, and where one of them does."""
    mask, then, otherwise = map(value_of, fields)
    known, ours, theirs = map(lack_of, fields)
    zero, none = then.dtype.dtype.type(0), choice.code
    return [
        (
            combined("select", mask, *sides),
            combined("maximum", known, combined("select", mask, *lacks)),
        )
        for sides, lacks in (
            ((then, otherwise), (ours, theirs)),
            ((then, zero), (ours, none)),
            ((zero, otherwise), (none, theirs)),
        )
    ]


def _everywhere(number: np.generic, value: AnyValue) -> AnyValue:
    """Return a number on the points of a whole value."""

    def on(field: AnyField) -> AnyField:
        return make(np.broadcast_to(number, extents(field.domain)), field.domain)

    made: AnyValue = mapped(on, value)
    return made


def _all_lacks(fields: Sequence[Any]) -> tuple[AnyValue, AnyValue]:
    lack, sure = lack_of(fields[0]), sure_of(fields[0])
    for each in fields[1:]:
        lack = combined("maximum", lack, lack_of(each))
        sure = combined("and", sure, sure_of(each))
    return lack, sure


def _dims_of(operands: Sequence[Any]) -> tuple[Dimension, ...]:
    fields = [each for each in operands if isinstance(each, AnyValue)]
    return in_canonical_order(dim for field in fields for dim in field.domain.dims)


def _local_slots(operands: Sequence[Any]) -> dict[Dimension, UnitRange]:
    """Return the slots common to all operands: those of a table always exist."""
    slots: dict[Dimension, UnitRange] = {}
    for each in operands:
        for dim, own in each.domain if isinstance(each, AnyValue) else ():
            if dim.kind is DimensionKind.LOCAL:
                slots[dim] = slots.get(dim, EVERYWHERE) & own
    return slots


def _have_same_points(operands: Sequence[Any]) -> bool:
    """Tell whether both sides of `where` exist at the same points of the mask."""
    if any(isinstance(each, PiecewiseField) for each in operands):
        return False
    boxes = [dict(each.domain) if isinstance(each, AnyValue) else {} for each in operands]
    for dim in {dim for box in boxes for dim in box}:
        mask, then, otherwise = (box.get(dim, EVERYWHERE) for box in boxes)
        if dim.kind is not DimensionKind.LOCAL and mask & then != mask & otherwise:
            return False
    return True


def _boxes(
    value: AnyValue, dims: Sequence[Dimension], slots: dict[Dimension, UnitRange]
) -> tuple[Domain, ...]:
    """Return the boxes of a value over more dimensions; local ones have all slots, or those."""
    everywhere = Domain(*((dim, None) for dim in dims))
    boxes = []
    for piece in pieces_of(value):
        ranges = dict(everywhere & piece.box)
        ranges |= {
            dim: slots.get(dim, EVERYWHERE) for dim in dims if dim.kind is DimensionKind.LOCAL
        }
        boxes.append(Domain(*((dim, ranges[dim]) for dim in dims)))
    return tuple(box for box in boxes if not box.is_empty())


def _on(value: AnyValue, dims: Sequence[Dimension], boxes: Sequence[Domain]) -> list[Piece]:
    return cut(pieces_of(mapped(lambda field: widened(field, dims), value)), boxes)


def _choice(fields: Sequence[AnyValue]) -> Choice:
    domains = [field.domain if field.domain.ndim else None for field in fields[1:]]
    return Choice(place_of_call(), (domains[0], domains[1]))
