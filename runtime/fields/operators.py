"""Python's operators on fields, and NumPy's dtype rules where fields and numbers meet.

Domains are intersected, dimensions united. Outside field operators dtypes follow NumPy: a
Python number takes the dtype of the field, `/` of integers gives float64. Inside a field
operator the language's own rules hold, see `embedded`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..language import DType, operations
from ..language.exact_integers import with_exact


class Operators:
    """Base class of fields: arithmetic, comparison and logic; a field has no truth value."""

    __slots__ = ()
    __array_ufunc__: Any = None  # so that NumPy numbers on the left use our operators
    __hash__ = None  # type: ignore[assignment]  # '==' compares point by point

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The type of the elements."""

    def _combine(self, op: str, *operands: Any) -> Any:
        return numpy_combined(op, *operands)

    @abstractmethod
    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation of the language to operands of one dtype; `self` is one of them."""

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


def combined(op: str, *operands: Any, dtype: str | None = None) -> Any:
    """Apply an operation of the language to fields and NumPy scalars of one dtype."""
    for operand in operands:
        if isinstance(operand, Operators):
            return operand.combined(op, operands, dtype)
    return with_exact(op, operands, operations.apply(op, *operands, dtype=dtype))


def numpy_combined(op: str, *operands: Any) -> Any:
    """Apply an operation to fields and numbers by NumPy's dtype rules, after promotion."""
    if not all(isinstance(x, Operators | np.generic | int | float) for x in operands):
        return NotImplemented
    common = common_dtype(*operands)
    if op == "div" and common.kind in "iub":
        common = np.dtype(np.float64)
    return combined(op, *(converted(operand, common) for operand in operands))


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """Return NumPy's common dtype of fields and numbers; Python numbers adapt to the others."""
    kinds = [x.dtype.dtype if isinstance(x, Operators) else x for x in operands]
    if not any(hasattr(kind, "dtype") or isinstance(kind, np.dtype) for kind in kinds):
        kinds = [operations.literal(kind) for kind in kinds]
    return np.result_type(*kinds)


def converted(operand: Any, dtype: np.dtype[Any]) -> Any:
    """Return a field or number in another dtype."""
    if isinstance(operand, Operators | np.generic) and operand.dtype == dtype:
        return operand
    if isinstance(operand, Operators):
        return combined("cast", operand, dtype=dtype.name)
    with np.errstate(all="ignore"):
        return dtype.type(operand)
