"""Bring the arguments of an embedded call to the types that the operator declares."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..fields.bare_array import advice, describe_array, is_array, with_fields
from ..fields.field import make
from ..language.domain import Domain
from ..language.operations import literal, member_value
from ..language.structure import elements, rebuilt
from ..language.types import CollectionType, FieldType, ScalarType, TupleType, Type
from ..process.errors import ArgumentError, nearest
from .lanes import Lanes
from .piecewise import AnyValue
from .walking import ScanResult

MISFIT: Any = object()  # stands for a value that is not of its declared type


def bind(
    name: str,
    parameters: Sequence[tuple[str, Type]],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    defaults: Mapping[str, Any],
    scalar: Callable[[Any, ScalarType], Any] | None = None,
) -> list[Any]:
    """Return one value for each parameter, numbers as NumPy scalars of the declared type.

    `scalar` says what may stand for a scalar; it is `as_number` by default.
    """
    if len(args) > len(parameters):
        raise ArgumentError(
            f"Invalid call to '{name}': Function takes {len(parameters)} positional arguments, "
            f"but {len(args)} were given."
        )
    names = [parameter for parameter, _ in parameters]
    given = {**defaults, **dict(zip(names, args, strict=False))}
    for keyword, value in kwargs.items():
        if keyword not in names or keyword in names[: len(args)]:
            _refuse_keyword(name, names, keyword)
        given[keyword] = value
    missing = [parameter for parameter in names if parameter not in given]
    if missing:
        raise ArgumentError(f"Invalid call to '{name}': Missing argument '{missing[0]}'.")
    values, wrong, hints = [], [], []
    for parameter, type_ in parameters:
        value = converted_to(type_, given[parameter], scalar or as_number)
        values.append(value)
        if value is MISFIT:
            wrong.append(
                f"Expected argument '{parameter}' to be of type '{type_}', "
                f"got '{describe(given[parameter])}'."
            )
            hints.append(advice(parameter, type_, given[parameter]))
    if wrong:
        message = "\n".join([f"Invalid argument types in call to '{name}'.", *wrong])
        raise ArgumentError(message, hints=[hint for hint in hints if hint])
    return values


def describe(value: Any) -> str:
    """Return the type of a value as an annotation would spell it.

    >>> describe((1, np.float32(2)))
    'tuple[int32, float32]'
    """
    if isinstance(value, Lanes):
        return value.dtype.dtype.name
    if isinstance(value, AnyValue):
        dims = ", ".join(dim.value for dim in value.domain.dims)
        return f"Field[[{dims}], {value.dtype}]"
    parts = elements(value)
    if parts is not None:
        return f"tuple[{', '.join(map(describe, parts))}]"
    if isinstance(value, int) and abs(value) >= 2**63:
        return "int"
    number = literal(value)
    if isinstance(number, np.generic):
        return str(number.dtype.name)
    return describe_array(value) if is_array(value) else type(value).__name__


def converted_to(type_: Type, value: Any, scalar: Callable[[Any, ScalarType], Any]) -> Any:
    """Return a value in the declared type, its scalars as `scalar` makes them, or `MISFIT`."""
    match type_:
        case ScalarType():
            return scalar(value, type_)
        case FieldType():
            return _as_field(value, type_)
        case TupleType(inner) | CollectionType(elements=inner):
            parts = elements(value)
            if parts is None or len(parts) != len(inner):
                return MISFIT
            pairs = zip(inner, parts, strict=True)
            made = tuple(converted_to(*pair, scalar) for pair in pairs)
            if any(part is MISFIT for part in made):
                return MISFIT
            if isinstance(type_, CollectionType) and type_.python_class and type(value) is tuple:
                return type_.python_class(*made)
            return rebuilt(value, made)
    return MISFIT


def _as_field(value: Any, type_: FieldType) -> Any:
    dims, dtype = type_.dims, type_.dtype
    value = with_fields(type_, value)
    if isinstance(value, AnyValue):
        # the domain of a scan's result is not known before it is walked
        own = value.dims if isinstance(value, ScanResult) else value.domain.dims
        fits = own == dims and value.dtype == dtype.name
        return value if fits else MISFIT
    number = MISFIT if dims else as_number(value, dtype)
    # a lane of a scan is a number, in the place of a field without dimensions too
    alone = number is MISFIT or isinstance(number, Lanes)
    return number if alone else make(number, Domain())


def as_number(value: Any, type_: ScalarType) -> Any:
    """Return a number in the declared type: it must be of it, an `int` of any size must fit.

    What does not fit gives `MISFIT`.
    """
    value = member_value(value) if isinstance(value, enum.Enum) else value
    target = np.dtype(type_.name)
    if isinstance(value, Lanes):
        return value if value.dtype == target else MISFIT
    if isinstance(value, int) and not isinstance(value, bool) and target.kind in "iu":
        bounds = np.iinfo(target)
        return target.type(value) if bounds.min <= value <= bounds.max else MISFIT
    if isinstance(value, bool | float | np.generic):
        number = literal(value)
        return number if number.dtype == target else MISFIT
    return MISFIT


def _refuse_keyword(name: str, names: list[str], keyword: str) -> None:
    if keyword in names:
        raise ArgumentError(
            f"Invalid call to '{name}': Argument '{keyword}' is given by position and by keyword."
        )
    close = nearest(keyword, names)
    raise ArgumentError(
        f"Invalid call to '{name}': Got an unexpected keyword argument '{keyword}'.",
        hints=[f"Did you mean '{close}'?"] if close else [],
    )
