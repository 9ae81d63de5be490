"""The type of a field's elements, as a value that compares with NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..process import ArgumentError, classes
from .types import SCALARS, ScalarType


@classes.frozen(eq=False)
class DType:
    """The element type of a field; equal to the NumPy dtypes and scalar types that mean the same.

    >>> DType(np.float64) == np.float64, str(DType(np.int32)), np.zeros(2, DType(np.int8)).dtype
    (True, 'int32', dtype('int8'))
    """

    scalar_type: type[Any]

    def __class_getitem__(cls, _: Any) -> type[DType]:
        """Take the scalar type in annotations: `DType[float64]` is `DType`."""
        return cls

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(self.scalar_type)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return bool(self.dtype == other.dtype)  # `np.longlong` is a type of its own
        if isinstance(other, np.dtype | type | str):
            return bool(self.dtype == other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        return self.dtype.name


def as_dtype(given: Any) -> DType:
    """Return the element type that a scalar type, NumPy dtype or name stands for.

    >>> str(as_dtype(float)), str(as_dtype(np.dtype("i4"))), str(as_dtype("bool"))
    ('float64', 'int32', 'bool')
    """
    if isinstance(given, DType):
        return given
    named = {int: "int64", float: "float64", bool: "bool"}
    plain = given.name if isinstance(given, ScalarType) else given
    if isinstance(given, type):
        plain = named.get(given, given)
    try:
        dtype = np.dtype(plain)
    except TypeError:
        raise ArgumentError(f"Expected a scalar type as 'dtype', got {given!r}.") from None
    if dtype.name not in SCALARS or not dtype.isnative:
        raise ArgumentError(
            f"A field cannot hold '{dtype}'; it holds bool, int8 to uint64, float32 or float64."
        )
    return DType(dtype.type)


def dtype_of_number(value: Any) -> DType:
    """Return the element type of a number of Python or NumPy.

    >>> str(dtype_of_number(True)), str(dtype_of_number(1)), str(dtype_of_number(np.float32(1)))
    ('bool', 'int64', 'float32')
    """
    return as_dtype(
        type(value) if isinstance(value, bool | int | float) else np.asarray(value).dtype
    )
