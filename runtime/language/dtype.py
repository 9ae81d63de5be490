"""The type of a field's elements, as a value that compares with NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..process import classes


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
            return self.scalar_type is other.scalar_type
        if isinstance(other, np.dtype | type | str):
            return bool(self.dtype == other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __str__(self) -> str:
        return self.dtype.name
