"""Reduce a field or an expression to one number, in an order that never changes.

The order follows from the shape and the layout of the field, not from the number of threads, so
results are the same bits on one thread and on many. Fields of our constructors with equal domains
have equal layouts. Fields on a GPU are reduced there, in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal

import numpy as np

from .. import _core
from ..language import SCALARS, Domain, domain as make_domain
from ..process import ArgumentError, DomainError
from .alignment import first
from .given_data import array_of, array_on_host

Reduction = Literal["sum", "max", "min", "norm"]

_BITS: Final = {"norm": "squares"}


def sum(field: Any, domain: Any = None, **arguments: Any) -> Any:  # noqa: A001  (the name that NumPy has)
    """Return the sum of a field, over its domain or the part `domain` of it.

    An array of any library that gives DLPack is taken as it is, without a domain.
    Instead of a field, an operator stands for the expression that it computes of `arguments`. It is
    compiled by its backend. Without a domain it is computed where all its fields have values.

    Sums of floats are computed and returned in float64, sums of integers in int64, where they
    wrap; a sum of bools counts. Threads share the work, and change no bit of the result.

    Args:
        field: a field on any dimensions, or an array, of any dtype of the language; or an operator.
        domain: a part of the field's domain, as `{I: (1, 9), K: 80}`; for an operator where to
            compute it.
        arguments: those of the operator by name, and 'offset_provider' where it reads tables.

    Raises:
        ArgumentError: `field` is neither, or of another dtype.
        DomainError: `domain` reaches beyond the field, or is given with an array.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> u = ff.as_field([I], [1.0, 2.0, 4.0])
    >>> ff.sum(u), ff.sum(u, {I: (1, 3)})
    (np.float64(7.0), np.float64(6.0))
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def rise(u: Line) -> Line:
    ...     return u(I + 1) - u
    >>> ff.sum(rise, {I: (0, 2)}, u=u)
    np.float64(3.0)
    """
    return _reduced(field, domain, "sum", arguments)


def max(field: Any, domain: Any = None, **arguments: Any) -> Any:  # noqa: A001
    """Return the largest element of a field, NaN if there is one.

    Arguments are those of `sum`; a domain without points is a `DomainError`.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> ff.max(ff.as_field([I], [1.0, -2.0]))
    np.float64(1.0)
    """
    return _reduced(field, domain, "max", arguments)


def min(field: Any, domain: Any = None, **arguments: Any) -> Any:  # noqa: A001
    """Return the smallest element of a field, NaN if there is one; like `max`.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> ff.min(ff.as_field([I], [1.0, -2.0]))
    np.float64(-2.0)
    """
    return _reduced(field, domain, "min", arguments)


def norm(field: Any, domain: Any = None, **arguments: Any) -> Any:
    """Return the square root of the sum of squares, in float64.

    Arguments are those of `sum`.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> ff.norm(ff.as_field([I], [3.0, 4.0]))
    np.float64(5.0)
    """
    return _reduced(field, domain, "norm", arguments)


def _reduced(
    field: Any, domain: Any, reduction: Reduction, arguments: Mapping[str, Any] | None = None
) -> Any:
    evaluate = getattr(field, "__fieldforge_evaluate__", None)
    if evaluate is not None:
        values, give_back = evaluate(domain, arguments or {})
        try:
            return _reduced(values, None, reduction)
        finally:
            give_back()
    if arguments:
        raise ArgumentError(
            f"'{reduction}' of a field takes no argument '{next(iter(arguments))}'.",
            hint="Arguments are those of an operator: 'sum(operator, domain, u=u)'.",
        )
    part = _part_or_array(field, domain, reduction)
    array = getattr(part, "ndarray", part)
    if array.size == 0 and reduction in ("max", "min"):
        raise DomainError(f"'{reduction}' of a field without points has no value.")
    if not isinstance(array, np.ndarray):
        found = _on_device(array, reduction)
        if found is not None:
            return found
        array = part.asnumpy() if part is not array else array_on_host(array)
    if not (array.dtype.isnative and array.flags.aligned):
        array = np.array(array, array.dtype.newbyteorder("="))
    found = _core.reduce(array, _BITS.get(reduction, reduction))
    return _typed(found, reduction, array.dtype)


def _part_or_array(field: Any, domain: Any, reduction: Reduction) -> Any:
    """Return a field on a part of its domain, or the array that an object gives by DLPack."""
    if not getattr(type(field), "__fieldforge_field__", False):
        if not hasattr(field, "__dlpack__"):
            raise ArgumentError(
                f"'{reduction}' takes a field or an array, got an object of type "
                f"'{type(field).__name__}'.",
                hint="Make a field of it with 'as_field'.",
            )
        if domain is not None:
            raise DomainError(
                f"'{reduction}' of an array takes no domain, because an array has none.",
                hint="Make a field of it with 'as_field'.",
            )
        array = array_of(field)
        if array.dtype.name not in SCALARS:
            raise ArgumentError(f"'{reduction}' takes no array of '{array.dtype}'.")
        return array
    return field if domain is None else _part(field, make_domain(domain), reduction)


def _on_device(array: Any, reduction: Reduction) -> Any:
    """Reduce an array of a GPU where it lies; None if it has to be copied to the host."""
    if not hasattr(type(array), "__dlpack__"):
        return None
    from .device_reductions import reduce_on_device  # few programs need it, see decision 0005

    dtype = np.dtype(str(array.dtype))
    found = reduce_on_device(array, _BITS.get(reduction, reduction), _wide(dtype, reduction))
    return None if found is None else _typed(found, reduction, dtype)


def _part(field: Any, domain: Domain, reduction: str) -> Any:
    """Return a field on a part of its domain; dimensions that are not named stay whole."""
    for dim in domain.dims:
        if dim not in field.domain.dims:
            raise DomainError(
                f"'{reduction}' over '{dim.value}': the field is on '{field.domain}'."
            )
        inner, outer = domain[dim].unit_range, field.domain[dim].unit_range
        if len(inner) and (inner.start < outer.start or inner.stop > outer.stop):
            raise DomainError(
                f"'{reduction}' over {inner.start}:{inner.stop} along '{dim.value}' reaches beyond "
                f"the field, which covers {outer.start}:{outer.stop}."
            )
        places = [slice(None)] * len(field.domain.dims)
        begin = first(inner) - first(outer) if len(inner) else 0
        places[field.domain.dims.index(dim)] = slice(begin, begin + len(inner))
        field = field[tuple(places)]
    return field


def _wide(dtype: Any, reduction: Reduction) -> Any:
    """Return the dtype that a reduction computes in."""
    if reduction in ("max", "min"):
        return dtype
    is_float = reduction == "norm" or np.dtype(dtype).kind == "f"
    return np.dtype(np.float64 if is_float else np.int64)


def _typed(found: Any, reduction: Reduction, dtype: np.dtype[Any]) -> Any:
    if reduction == "norm":
        return np.float64(math.sqrt(found))
    return _wide(dtype, reduction).type(found)
