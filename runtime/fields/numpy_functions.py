"""NumPy's functions and reductions on fields, outside operators.

A function of NumPy that works point by point takes fields and numbers and returns a field: the
domains of its operands are intersected, as for Python's operators. An array has no dimensions,
so beside a field it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..language import Dimension, Domain
from ..process import ArgumentError, DomainError
from . import reductions
from .operators import Operators

_OPERATORS: Final[Mapping[Any, str]] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div",
    np.floor_divide: "floordiv", np.remainder: "mod", np.equal: "eq", np.not_equal: "ne",
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
}  # fmt: skip
_LOGIC: Final[Mapping[Any, str]] = {
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor", np.invert: "not",
}  # fmt: skip
_IN_ORDER: Final[Mapping[str, Any]] = {
    "max": reductions.max, "min": reductions.min, "sum": reductions.sum,
}  # fmt: skip


class NumpyFunctions(Operators):
    """NumPy's functions and methods of fields; `Field` inherits them."""

    __slots__ = ()
    domain: Any
    ndarray: Any

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a function of NumPy point by point: `np.sqrt(u)`, `np.maximum(u, 0.0)`."""
        _check_use(ufunc, method, inputs, options)
        inputs = tuple(one[()] if isinstance(one, np.ndarray) else one for one in inputs)  # 0-d
        if ufunc in _OPERATORS:
            return self._combine(_OPERATORS[ufunc], *inputs)
        if ufunc in _LOGIC:
            return self._logic(_LOGIC[ufunc], *inputs)
        return self._applied(ufunc, inputs)

    def _applied(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        """Apply a function to the arrays of fields where their domains meet."""
        raise NotImplementedError

    def __len__(self) -> int:
        if not self.ndarray.ndim:
            raise TypeError("A field without dimensions has no length.")
        return int(self.ndarray.shape[0])

    def max(self, axis: Any = None, out: Any = None, **more: Any) -> Any:
        """Return the largest value, or along one or several dimensions a field of the largest.

        NaN propagates. A dimension that the field lacks is a `DomainError`; an axis that is a
        number, and more arguments, are NumPy's and give an array.

        >>> from fieldforge.runtime.fields.constructors import as_field
        >>> I, J = Dimension("I"), Dimension("J")
        >>> u = as_field([I, J], [[1.0, 5.0], [3.0, 2.0]])
        >>> u.max(), u.max(axis=I).asnumpy(), u.min(axis=(I, J))
        (np.float64(5.0), array([3., 5.]), np.float64(1.0))
        """
        return self._either("max", axis, {"out": out, **more})

    def min(self, axis: Any = None, out: Any = None, **more: Any) -> Any:
        """Return the smallest value, or a field of the smallest along dimensions, like `max`."""
        return self._either("min", axis, {"out": out, **more})

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Any:
        """Return the sum, or a field of the sums along dimensions, like `max`."""
        return self._either("sum", axis, {"dtype": dtype, "out": out, **more})

    def mean(self, axis: Any = None, **more: Any) -> Any:
        """Return the mean, or a field of the means along dimensions, like `max`."""
        return self._either("mean", axis, more)

    def all(self, axis: Any = None, **more: Any) -> Any:
        """Tell whether every value holds, or every value along dimensions, like `max`."""
        return self._either("all", axis, more)

    def any(self, axis: Any = None, **more: Any) -> Any:
        """Tell whether a value holds, or a value along dimensions, like `max`."""
        return self._either("any", axis, more)

    def _either(self, name: str, axis: Any, more: Mapping[str, Any]) -> Any:
        """Reduce along dimensions, over everything in an order that never changes, or as NumPy."""
        if _is_along_dimensions(axis):
            return self._reduced(name, axis)
        if name not in _IN_ORDER:
            return getattr(self.ndarray, name)(axis=axis, **more)
        if axis is None and all(each is None for each in more.values()):
            return _IN_ORDER[name](self)
        return getattr(np.asarray(self), name)(axis=axis, **more)

    def _reduced(self, name: str, axis: Any) -> Any:
        """Reduce along dimensions; return a field on the others, or a number if none remain."""
        dims = axis if isinstance(axis, tuple) else (axis,)
        places = tuple(_place(self.domain, dim) for dim in dims)
        rest = Domain(*((dim, own) for dim, own in self.domain if dim not in dims))
        values = getattr(self.ndarray, name)(axis=places)
        return self._made(values, rest) if rest.dims else values[()]

    def _made(self, array: Any, domain: Domain) -> Any:
        """Put an array on a domain."""
        raise NotImplementedError


def _is_along_dimensions(axis: Any) -> bool:
    """Tell dimensions from the numbers of NumPy's axes."""
    return isinstance(axis[0] if isinstance(axis, tuple) and axis else axis, Dimension)


def _place(domain: Domain, dim: Dimension) -> int:
    if dim not in domain.dims:
        raise DomainError(f"There is no dimension '{dim.value}' in '{domain}' to reduce.")
    return domain.dims.index(dim)


def _check_use(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Any) -> None:
    """Refuse uses of a function that have no meaning for fields."""
    name = f"np.{ufunc.__name__}"
    if method != "__call__" or options or ufunc.nout != 1:
        extra = ", ".join(f"'{option}='" for option in options)
        what = f"'{name}.{method}'" if method != "__call__" else f"'{name}' with {extra}"
        raise ArgumentError(
            f"Fields do not support {what if extra or method != '__call__' else repr(name)}.",
            hint="Apply it to arrays: 'u.ndarray'.",
        )
    for value in inputs:
        if getattr(value, "ndim", 0) and not isinstance(value, Operators):
            raise ArgumentError(
                f"'{name}' got a field and an array of shape {np.shape(value)}; "
                "the axes of an array have no dimensions.",
                hint="Make a field of the array with 'as_field', or compute with 'u.ndarray'.",
            )
