"""Promote operands to a common type: unite their dimensions, require equal dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ...runtime.language import (
    FLOATS,
    INTEGERS,
    CollectionType,
    DataType,
    Dimension,
    DomainType,
    FieldType,
    ScalarType,
    TupleType,
    promote_dims,
)
from ...runtime.process import DomainError

Numeric: TypeAlias = ScalarType | FieldType
RowType: TypeAlias = DataType | DomainType
BOOL = ScalarType("bool")


def numeric(type_: RowType) -> Numeric:
    """Return `type_` as a scalar or field type, which the caller has checked."""
    if isinstance(type_, Numeric):
        return type_
    raise TypeError(f"'{type_}' is neither a scalar nor a field.")


def dtype_of(type_: Numeric) -> ScalarType:
    """Return the dtype of a scalar or field."""
    return type_.dtype if isinstance(type_, FieldType) else type_


def dims_of(type_: Numeric) -> tuple[Dimension, ...]:
    """Return the dims of a scalar (none) or field."""
    return type_.dims if isinstance(type_, FieldType) else ()


def is_arithmetic(type_: RowType) -> bool:
    """Tell whether `type_` is a scalar or field of numbers."""
    return isinstance(type_, Numeric) and dtype_of(type_).name != "bool"


def is_integral(type_: RowType) -> bool:
    """Tell whether values of `type_` are integers."""
    return isinstance(type_, Numeric) and dtype_of(type_).name in INTEGERS


def is_floating(type_: RowType) -> bool:
    """Tell whether values of `type_` are floating point numbers."""
    return isinstance(type_, Numeric) and dtype_of(type_).name in FLOATS


def is_logical(type_: RowType) -> bool:
    """Tell whether values of `type_` are bools."""
    return isinstance(type_, Numeric) and dtype_of(type_).name == "bool"


def with_dtype(type_: Numeric, dtype: ScalarType) -> Numeric:
    """Return `type_` with another dtype."""
    return FieldType(type_.dims, dtype) if isinstance(type_, FieldType) else dtype


def common_dims(*lists: tuple[Dimension, ...]) -> tuple[Dimension, ...] | None:
    """Return the union in canonical order; None where no field can have these dims."""
    first, *others = (dims for dims in lists if dims) if any(lists) else ((),)
    if all(dims == first for dims in others):
        return first
    try:
        return promote_dims(*lists)
    except DomainError:
        return None


def promote(types: Iterable[Numeric]) -> Numeric | None:
    """Return the common type of operands; None where dtypes differ or dims do not fit.

    >>> str(promote([ScalarType("float64"), FieldType((Dimension("I"),), ScalarType("float64"))]))
    'Field[[I], float64]'
    """
    operands = list(types)
    first = operands[0]
    if all(operand is first for operand in operands):  # the common case, and the cheapest test
        return first
    dtype = dtype_of(first)
    if any(dtype_of(operand) != dtype for operand in operands[1:]):
        return None
    return over_all_dims(operands, dtype)


def over_all_dims(types: list[Numeric], dtype: ScalarType) -> Numeric | None:
    """Return `dtype` over the dims of all operands; their own dtypes do not matter."""
    dims = common_dims(*map(dims_of, types))
    if dims is None:
        return None
    return FieldType(dims, dtype) if any(isinstance(t, FieldType) for t in types) else dtype


def same_structure(left: RowType, right: RowType) -> bool:
    """Tell whether two types are tuples of one length, or the same named collection."""
    if isinstance(left, CollectionType) and isinstance(right, CollectionType):
        return (left.name, left.keys) == (right.name, right.keys)
    if isinstance(left, TupleType) and isinstance(right, TupleType):
        return len(left.elements) == len(right.elements)
    return False
