"""What the builtins of the language compute, on fields and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fields import (
    Connectivity,
    Operators,
    combined,
    common_dtype,
    converted,
    extents,
    make,
    table_along,
    values_of,
    view_on,
)
from ..language import (
    FLOATS,
    Dimension,
    DimensionKind,
    Displacement,
    Domain,
    FieldOffset,
    NamedIndex,
    as_dtype,
    check_dims,
    in_canonical_order,
    map_leaves,
    operations,
)
from ..language.operation_table import Operation
from ..language.operations import literal
from ..language.regions import Region, as_region, outside
from ..process import ArgumentError, DomainError, EmbeddedExecutionError
from .active_values import alike
from .partial import PartialField, chosen, lack_of, origins_of, settled, sure_of, value_of
from .piecewise_field import (
    AnyValue,
    Piece,
    assembled,
    at_index,
    cut,
    mapped,
    nothing,
    pieces_of,
    widened,
)
from .walking import ScanResult

__all__ = ["as_offset", "astype", "broadcast", "concat_where", "pointwise", "reduced", "where"]


def pointwise(operation: Operation, operands: Sequence[Any]) -> Any:
    """Compute an operation that a builtin stands for, point by point."""
    builtin = operation.builtin
    if len(operands) != operation.arity:
        raise ArgumentError(
            f"Builtin '{builtin}' takes {operation.arity} arguments, got {len(operands)}."
        )
    for operand in operands:
        _check_number(builtin, operand)
    common = common_dtype(*operands)
    if operation.takes is FLOATS and common.kind != "f":
        raise ArgumentError(
            f"Expected 0-th argument to be a floating point type, got '{common}' "
            f"in call to '{builtin}'."
        )
    if operation.name == "pow":  # the language lets the exponent have a type of its own
        return combined("pow", *(literal(operand) for operand in operands))
    return combined(operation.name, *(converted(operand, common) for operand in operands))


def where(mask: Any, a: Any, b: Any) -> Any:
    """Choose point by point."""
    if not isinstance(mask, AnyValue):
        raise ArgumentError(
            f"Expected the mask of 'where' to be a field of bool, got '{type(mask).__name__}'.",
            hints=["Use 'a if condition else b' for a scalar condition."],
        )
    if mask.dtype != np.bool_:
        raise ArgumentError(
            f"Expected the mask of 'where' to be a field of bool, got one of '{mask.dtype}'."
        )
    return map_leaves(lambda then, otherwise: _select(mask, then, otherwise), a, b)


def broadcast(x: Any, dims: Sequence[Dimension]) -> Any:
    """Repeat a field or number along further dimensions."""
    _check_number("broadcast", x)
    check_dims(tuple(dims))
    field = x if isinstance(x, AnyValue) else make(literal(x), Domain())
    own = field.dims if isinstance(field, ScanResult) else field.domain.dims
    missing = [dim.value for dim in own if dim not in dims]
    if missing:
        raise DomainError(
            f"The dimensions of 'broadcast' must include those of the field: '{missing[0]}' is "
            "missing."
        )
    if isinstance(field, ScanResult):
        return field.then(tuple(dims), lambda value: broadcast(value, dims))
    if isinstance(field, PartialField):
        return field.each(lambda value: broadcast(value, dims))
    return mapped(lambda field: widened(field, dims), field)


def astype(x: Any, dtype: Any) -> Any:
    """Convert to a scalar type."""
    target = as_dtype(dtype).dtype.name
    return map_leaves(lambda leaf: _cast(leaf, target), x)


def _cast(leaf: Any, target: str) -> Any:
    if isinstance(leaf, ScanResult) and leaf.dtype == target:
        return leaf  # not walked yet
    return combined("cast", literal(leaf), dtype=target)


def concat_where(condition: Any, a: Any, b: Any) -> Any:
    """Choose by a condition on indices."""
    region = as_region(condition)
    return map_leaves(lambda then, otherwise: _concatenated(region, then, otherwise), a, b)


def as_offset(offset: FieldOffset, by: Any) -> Displacement:
    """Make an offset that differs from point to point."""
    if not isinstance(offset, FieldOffset) or not offset.is_cartesian:
        raise ArgumentError(
            f"The first argument of 'as_offset' is a Cartesian one, got '{offset}'."
        )
    if not isinstance(by, AnyValue) or by.dtype.dtype.kind not in "iu":
        raise ArgumentError(
            f"The second argument of 'as_offset' is a field of integers, got '{by}'."
        )
    if offset.source not in by.domain.dims:
        raise ArgumentError(
            f"The field given to 'as_offset' must have the dimension '{offset.source.value}' of "
            f"offset '{offset.value}', got '{by}'."
        )
    return Displacement(offset.source, by)


def _select(mask: Any, then: Any, otherwise: Any) -> Any:
    _check_number("where", then)
    _check_number("where", otherwise)
    common = common_dtype(then, otherwise)
    return chosen(mask, converted(then, common), converted(otherwise, common))


def _concatenated(region: Region, then: Any, otherwise: Any) -> Any:
    fields = []
    rest = outside(region)
    for branch, part in ((then, region), (otherwise, rest)):
        _check_number("concat_where", branch)
        branch = branch.in_region(part) if isinstance(branch, ScanResult) else branch  # noqa: PLW2901
        value = converted(branch, common_dtype(then, otherwise))
        fields.append(value if isinstance(value, AnyValue) else make(value, Domain()))
    fields = list(alike(*fields))
    if any(isinstance(field, PartialField) for field in fields):
        value, lack, sure = (
            _joined(region, rest, *map(of, fields)) for of in (value_of, lack_of, sure_of)
        )
        return settled(PartialField(value, lack, sure, origins_of(fields)))
    return _joined(region, rest, *fields)


def _joined(region: Region, rest: Region, *fields: AnyValue) -> AnyValue:
    dims = in_canonical_order(
        (*region.dims, *(dim for field in fields for dim in field.domain.dims))
    )
    here, there = (mapped(lambda field: widened(field, dims), field) for field in fields)
    pieces = cut(pieces_of(here), region.boxes) + cut(pieces_of(there), rest.boxes)
    return (
        assembled(pieces) if pieces else nothing(dims, here.dtype.dtype, here.domain, there.domain)
    )


def _check_number(builtin: str, value: Any) -> None:
    if not isinstance(literal(value), Operators | np.generic):
        raise ArgumentError(
            f"Builtin '{builtin}' works on fields and numbers, got '{type(value).__name__}'."
        )


def reduced(name: str, op: str, value: Any, local: Any) -> AnyValue:
    """Combine the valid neighbours along a local dimension by `add`, `maximum` or `minimum`."""
    if not isinstance(local, Dimension) or local.kind is not DimensionKind.LOCAL:
        raise ArgumentError(f"The axis of '{name}' must be a local dimension, got '{local}'.")
    if not isinstance(value, AnyValue) or local not in value.domain.dims:
        raise ArgumentError(
            f"Expected a field with dimension '{local}' in call to '{name}', got '{value}'."
        )
    if isinstance(value, PartialField):
        lack = reduced(name, "maximum", value.lack, local)
        sure = reduced(name, "minimum", value.sure, local)
        found = reduced(name, op, value.value, local)
        return settled(PartialField(found, lack, sure, value.origins))
    table = table_along(local)
    slots = table.domain[local].unit_range
    rows = [own for own in table.domain if own.dim is not local and own.dim in value.domain.dims]
    if not rows and not table.valid().all():
        raise EmbeddedExecutionError(
            f"'{name}' over '{local.value}' cannot tell which neighbours are missing: the field "
            f"has no dimension '{table.domain.dims[0].value}'."
        )
    if not slots:  # a table of width 0: nothing to combine, wherever there are rows
        rest = value.domain.pop(local)
        return make(np.full(extents(rest), _of_none(op, value.dtype.dtype)), rest)
    # a row with values in some slots only has no sum
    whole = [piece for piece in pieces_of(value) if slots <= piece.box[local].unit_range]
    pieces = cut(whole, [Domain(*rows)])
    if not pieces:
        return nothing(value.domain.pop(local).dims, value.dtype.dtype, value.domain)
    return assembled([_over_slots(op, piece, table, local) for piece in pieces])


def _over_slots(op: str, piece: Piece, table: Connectivity, local: Dimension) -> Piece:
    box = piece.box.pop(local)
    own = piece.field.domain.pop(local)
    # the set of missing neighbours differs from row to row, even where values do not
    axes = Domain(*((dim, box[dim].unit_range if dim in table.dims else r) for dim, r in own))
    dtype = piece.field.dtype.dtype
    result = np.full(extents(axes), _of_none(op, dtype), dtype)
    seen: Any = np.full((1,) * axes.ndim, op == "add")
    valid, rows = table.valid(), table.domain.pop(local)
    for place, slot in enumerate(table.domain[local].unit_range):
        column = at_index(piece.field, NamedIndex(local, slot))
        values = view_on(values_of(column), column.domain, axes)
        here = view_on(valid[..., place], rows, axes) if rows.dims[0] in axes.dims else np.True_
        now = operations.apply("select", seen, operations.apply(op, result, values), values)
        result = operations.apply("select", here, now, result)
        seen = seen | here
    return Piece(box, make(result, axes))


def _of_none(op: str, dtype: np.dtype[Any]) -> Any:
    """Return the result of a reduction without valid neighbours."""
    if op == "add" or dtype.kind == "b":
        return dtype.type(op == "minimum")
    bounds: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return dtype.type(bounds.max if op == "minimum" else bounds.min)
