"""The operators of Python on fields, outside of operators of the language.

Domains are intersected, dimensions united, and dtypes follow NumPy's rules: a
Python number takes the dtype of the field, `/` of integers gives float64.
Inside a field operator the language's own rules hold, see `embedded`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..language.dtype import DType


class Operators:
    """What the fields have in common: arithmetic, comparison, logic, never a truth value."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy number on the left leaves the operation to us
    __hash__ = None  # type: ignore[assignment]  # '==' compares point by point

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The type of the elements."""

    def _combine(self, op: str, *operands: Any) -> Any:
        return combining.numpy_combined(op, *operands)

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation where `self`, one of the operands, is more than one array."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise TypeError(
            "A field has no truth value; use 'where(condition, a, b)' to choose point by point."
        )

    def __add__(self, other: Any) -> Any:
        return self._combine("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._combine("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._combine("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._combine("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._combine("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._combine("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._combine("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._combine("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._combine("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._combine("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return self._combine("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._combine("mod", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._combine("pow", self, other)

    def __neg__(self) -> Any:
        return self._combine("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._combine("abs", self)

    def __eq__(self, other: object) -> Any:
        return self._combine("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._combine("ne", self, other)

    def __lt__(self, other: Any) -> Any:
        return self._combine("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self._combine("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self._combine("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self._combine("ge", self, other)

    def __and__(self, other: Any) -> Any:
        return self._logic("and", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._logic("and", other, self)

    def __or__(self, other: Any) -> Any:
        return self._logic("or", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._logic("or", other, self)

    def __xor__(self, other: Any) -> Any:
        return self._logic("xor", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self._logic("xor", other, self)

    def __invert__(self) -> Any:
        return self._logic("not", self)

    def _logic(self, op: str, *operands: Any) -> Any:
        for operand in operands:
            kind = operand.dtype if hasattr(operand, "dtype") else np.result_type(type(operand))
            if kind != np.bool_:
                raise NotImplementedError(
                    f"The logical operation '{op}' works on fields of bool, got '{kind}'."
                )
        return self._combine(op, *operands)


from . import combining  # noqa: E402 - it works on fields, which have these operators
