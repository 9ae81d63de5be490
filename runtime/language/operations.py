"""Compute operations of the language on plain arrays and NumPy scalars.

Embedded execution and the interpreter of the dataflow IR call `apply`; generated code gives the
same values. The rows stand in `operation_table`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from . import active_numbers
from .operation_table import TABLE, Compute, Operation
from .operation_values import Array, cast

__all__ = ["BY_NAME", "POINTWISE", "apply", "cast", "literal", "member_value", "of_same_value"]

BY_NAME: Final[Mapping[str, Operation]] = MappingProxyType({row.name: row for row in TABLE})
POINTWISE: Final[Mapping[str, Operation]] = MappingProxyType(
    {row.builtin: row for row in TABLE if row.builtin}
)
_COMPUTE: Final[Mapping[str, Compute]] = {row.name: row.compute for row in TABLE}


def apply(op: str, *values: Array, dtype: str | None = None) -> Array:
    """Compute one operation of the language on operands of one dtype.

    `dtype` is the target of `cast`, and not given otherwise. Operands are arrays that
    broadcast, or NumPy scalars; where all are scalars or 0-d, so is the result.

    >>> apply("div", np.array([7, -7, 7], dtype=np.int32), np.array([2, 2, 0], dtype=np.int32))
    array([ 3, -3,  0], dtype=int32)
    >>> apply("cast", np.float64(3e10), dtype="int32")
    np.int32(2147483647)
    """
    with np.errstate(all="ignore"):
        if any(value.dtype.names for value in values):
            target = None if dtype is None else np.dtype(dtype)
            return active_numbers.apply(BY_NAME[op], values, target)
        if op == "cast":
            return cast(values[0], np.dtype(dtype))
        return _COMPUTE[op](*values)


def literal(value: Any) -> Any:
    """Return a Python number as the NumPy scalar that the language takes it for.

    An `int` is int32 if it fits, else int64; NumPy scalars and everything that
    is no number come back as they are; a member of an enumeration of numbers is its value.

    >>> literal(3), literal(2**31), literal(0.5), literal(True)
    (np.int32(3), np.int64(2147483648), np.float64(0.5), np.True_)
    """
    if isinstance(value, enum.Enum):
        return literal(member_value(value))
    match value:
        case np.generic():
            return value
        case bool():
            return np.bool_(value)
        case int():
            return _integer(value)
        case float():
            return np.float64(value)
    return value


def of_same_value(value: Any, dtype: str) -> Any:
    """Return a Python number as the NumPy scalar of `dtype` that is the same number, else None.

    Scalars of NumPy and `bool` have a type of their own: for them it returns None.

    >>> of_same_value(60.0, "float32"), of_same_value(1, "float64"), of_same_value(0.1, "float32")
    (np.float32(60.0), np.float64(1.0), None)
    """
    target = np.dtype(dtype)
    if not isinstance(value, int | float) or isinstance(value, bool | np.generic):
        return None
    try:
        with np.errstate(all="ignore"):
            made = None if target.kind == "b" else target.type(value)
    except (OverflowError, ValueError):  # beyond the type; NaN for an integer
        return None
    same = made is not None and (made.item() == value or np.isnan(made))
    return made if same else None


def member_value(member: enum.Enum) -> Any:
    """Return the number that a member of an enumeration stands for.

    In `class Constants(np.float32, enum.Enum)` it is of the type that the class names.
    """
    return member.dtype.type(member.value) if isinstance(member, np.generic) else member.value


def _integer(value: int) -> Any:
    for type_ in (np.int32, np.int64):
        if np.iinfo(type_).min <= value <= np.iinfo(type_).max:
            return type_(value)
    raise ValueError(f"The integer {value} does not fit into 64 bits.")
