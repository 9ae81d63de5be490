"""NumPy's functions and reductions on fields, outside operators.

A function of NumPy that works point by point takes fields and numbers and returns a field: the
domains of its operands are intersected, as for Python's operators. An array has no dimensions,
so beside a field it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..language.dimension import Dimension
from ..language.domain import Domain
from ..process.errors import ArgumentError, DomainError
from .operators import Operators

_OPERATORS: Final[Mapping[Any, str]] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "div",
    np.floor_divide: "floordiv", np.remainder: "mod", np.equal: "eq", np.not_equal: "ne",
    np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
}  # fmt: skip
_LOGIC: Final[Mapping[Any, str]] = {
    np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor", np.invert: "not",
}  # fmt: skip


class NumpyFunctions(Operators):
    """What a field has from NumPy; `Field` inherits it."""

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

    def max(self, axis: Any = None, out: None = None) -> Any:
        """Return the largest value, or the largest along one or several dimensions.

        The result is a NumPy scalar without `axis`, else a field on the other dimensions. NaN
        propagates. A dimension that the field lacks is a `DomainError`.

        >>> from fieldforge.runtime.fields.constructors import as_field
        >>> I, J = Dimension("I"), Dimension("J")
        >>> u = as_field([I, J], [[1.0, 5.0], [3.0, 2.0]])
        >>> u.max(), u.max(axis=I).asnumpy(), np.sqrt(u.min(axis=(I, J)))
        (np.float64(5.0), array([3., 5.]), np.float64(1.0))
        """
        return self._reduced("max", axis, out)

    def min(self, axis: Any = None, out: None = None) -> Any:
        """Return the smallest value, or the smallest along dimensions, as `max` does."""
        return self._reduced("min", axis, out)

    def sum(self, axis: Any = None, dtype: None = None, out: None = None) -> Any:
        """Return the sum, or the sum along dimensions; NumPy chooses the order and the dtype."""
        return self._reduced("sum", axis, out, dtype)

    def mean(self, axis: Any = None, dtype: None = None, out: None = None) -> Any:
        """Return the mean, or the mean along dimensions, as `sum` does."""
        return self._reduced("mean", axis, out, dtype)

    def all(self, axis: Any = None, out: None = None) -> Any:
        """Tell whether every value holds, or every value along dimensions."""
        return self._reduced("all", axis, out)

    def any(self, axis: Any = None, out: None = None) -> Any:
        """Tell whether a value holds, or a value along dimensions."""
        return self._reduced("any", axis, out)

    def _reduced(self, name: str, axis: Any, out: Any, dtype: Any = None) -> Any:
        if out is not None or dtype is not None:
            raise ArgumentError(f"'{name}' of a field takes neither 'out' nor 'dtype'.")
        reduce = getattr(self.ndarray, name)
        if axis is None:
            return reduce()
        dims = axis if isinstance(axis, tuple) else (axis,)
        places = tuple(_place(self.domain, dim) for dim in dims)
        rest = Domain(*((dim, own) for dim, own in self.domain if dim not in dims))
        return self._made(reduce(axis=places), rest) if rest.dims else reduce(axis=places)[()]

    def _made(self, array: Any, domain: Domain) -> Any:
        """Put an array on a domain."""
        raise NotImplementedError


def _place(domain: Domain, dim: Any) -> int:
    if not isinstance(dim, Dimension):
        raise ArgumentError(
            f"Fields are reduced along dimensions, got axis {dim!r}.",
            hint="Pass a dimension, such as 'u.max(axis=I)'; 'u.ndarray' takes numbers.",
        )
    if dim not in domain.dims:
        raise DomainError(f"There is no dimension '{dim.value}' in '{domain}' to reduce.")
    return domain.dims.index(dim)


def _check_use(ufunc: Any, method: str, inputs: tuple[Any, ...], options: Any) -> None:
    """Refuse what has no meaning for fields."""
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
