"""Lanes: the numbers of many columns at once, with which the body of a scan computes.

A lane is a column of the grid. To the body a `Lanes` is a number; where a condition
differs from lane to lane, `Diverged` makes the walk run each half by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fields.operators import Operators
from ..language import operations
from ..language.dtype import DType


class Diverged(Exception):  # noqa: N818 - it steers the walk and is no error
    """Raised when lanes disagree on a condition; `mask` is its value in each lane."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.mask = mask


class Lanes(Operators):
    """A number that may differ from lane to lane: an array with one axis."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def dtype(self) -> DType:
        """The type of the number."""
        return DType(self.array.dtype.type)

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation lane by lane."""
        return Lanes(operations.apply(op, *map(unwrapped, operands), dtype=dtype))

    def __bool__(self) -> bool:
        if self.array.all():
            return True
        if self.array.any():
            raise Diverged(self.array.astype(np.bool_))
        return False

    def __repr__(self) -> str:
        return f"Lanes({self.array})"


def unwrapped(number: Any) -> Any:
    """Return the array behind lanes, or the number itself."""
    return number.array if isinstance(number, Lanes) else operations.literal(number)
