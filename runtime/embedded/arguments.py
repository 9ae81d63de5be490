"""Bring the arguments of an embedded call to the types that the operator declares."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..fields import ActiveNumber, combined, make
from ..fields.bare_array import advice, describe_array, is_array, with_fields
from ..language import (
    CollectionType,
    Domain,
    FieldType,
    ScalarType,
    TupleType,
    Type,
    elements,
    map_leaves,
    rebuilt,
)
from ..language.argument_binding import bind_arguments
from ..language.operations import literal, member_value, of_same_value
from ..process import ArgumentError, from_outside
from .lanes import Lanes
from .piecewise_field import AnyValue
from .walking import ScanResult

MISFIT: Any = object()  # marks a value of another type than the declared one


def bind(
    name: str,
    parameters: Sequence[tuple[str, Type]],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    defaults: Mapping[str, Any],
    scalar: Callable[[Any, ScalarType], Any] | None = None,
    *,
    warn: bool = True,
    keep: bool = False,
    written: frozenset[str] = frozenset(),
) -> list[Any]:
    """Return one value for each parameter, numbers as NumPy scalars of the declared type.

    `scalar` converts scalars; it is `as_number` by default. Values of another type that converts
    without loss are converted, with a warning if `warn`, except arguments that are `written`; with
    `keep` fields stay as they are.
    """
    names = [parameter for parameter, _ in parameters]
    given = bind_arguments(name, names, args, kwargs, defaults)
    convert = scalar or as_number
    values = [converted_to(type_, given[parameter], convert) for parameter, type_ in parameters]
    if any(value is MISFIT for value in values):
        for place, (parameter, type_) in enumerate(parameters):
            if values[place] is MISFIT and parameter not in written:
                wider = without_loss(type_, given[parameter])
                values[place] = converted_to(type_, wider, convert)
                if values[place] is MISFIT:
                    continue
                if warn:
                    _warn(name, parameter, type_, given[parameter])
                if keep:
                    values[place] = map_leaves(
                        lambda old, new: old if isinstance(old, AnyValue) else new,
                        given[parameter], values[place],
                    )  # fmt: skip
    if any(value is MISFIT for value in values):
        check_types(name, [(*row, given[row[0]]) for row in parameters], convert)
    return values


def _warn(name: str, parameter: str, type_: Type, value: Any) -> None:
    warnings.warn(
        f"Argument '{parameter}' of '{name}' is of type '{describe(value)}' and is converted to "
        f"'{type_}'; compiled calls refuse it.",
        UserWarning,
        stacklevel=from_outside(),
    )


def without_loss(type_: Type, value: Any) -> Any:
    """Return a value with leaves of the declared dtypes where every value of theirs fits there.

    >>> without_loss(ScalarType("float64"), np.int32(1)), without_loss(
    ...     ScalarType("float64"), np.int64(1)
    ... )
    (np.float64(1.0), np.int64(1))
    """
    if isinstance(type_, TupleType | CollectionType):
        parts = elements(value)
        if parts is None or len(parts) != len(type_.elements):
            return value
        return rebuilt(value, tuple(map(without_loss, type_.elements, parts)))
    dtype = type_.dtype if isinstance(type_, FieldType) else type_
    if not isinstance(dtype, ScalarType) or not isinstance(value, AnyValue | np.generic):
        return value
    own = value.dtype.dtype if isinstance(value, AnyValue) else value.dtype
    target = np.dtype(dtype.name)
    rounds = own.kind in "iu" and own.itemsize == 8 and target.kind == "f"
    if own == target or rounds or not np.can_cast(own, target, "safe"):
        return value
    return combined("cast", value, dtype=dtype.name)


def check_types(
    name: str,
    rows: Sequence[tuple[str, Type, Any]],
    scalar: Callable[[Any, ScalarType], Any] | None = None,
) -> None:
    """Refuse arguments, in rows of name, type and value, that are not of their types.

    Raises:
        ArgumentError: names every leaf of another type, or the first tuple of another length.

    """
    convert = scalar or as_number
    wrong = [row for row in rows if converted_to(row[1], row[2], convert) is MISFIT]
    leaves = [leaf for row in wrong for leaf in _misfits(name, *row, (), convert)]
    if leaves:
        raise wrong_types(name, leaves)


def _misfits(
    program: str,
    name: str,
    type_: Type,
    value: Any,
    path: tuple[int, ...],
    convert: Callable[[Any, ScalarType], Any],
) -> Iterator[tuple[str, Type, Any]]:
    """Yield the leaves of an argument that are of another type."""
    if not isinstance(type_, TupleType | CollectionType):
        if converted_to(type_, value, convert) is MISFIT:
            yield ".".join([name, *map(str, path)]), type_, value
        return
    parts = elements(value)
    if parts is None or len(parts) != len(type_.elements):
        raise wrong_structure(program, name, path, len(type_.elements), value)
    for index, (part, inner) in enumerate(zip(parts, type_.elements, strict=True)):
        yield from _misfits(program, name, inner, part, (*path, index), convert)


def wrong_types(
    program: str,
    leaves: Sequence[tuple[str, Type, Any]],
    shown: Callable[[Any], str] | None = None,
) -> ArgumentError:
    """Return the error for leaves, as rows of name, expected type and value, of other types."""
    shown = shown or describe
    lines = [f"Invalid argument types in call to '{program}'."]
    lines += [
        f"Expected argument '{name}' to be of type '{type_}', got '{shown(value)}'."
        for name, type_, value in leaves
    ]
    hints = [advice(name, type_, value) for name, type_, value in leaves]
    return ArgumentError("\n".join(lines), hints=[hint for hint in hints if hint])


def wrong_structure(
    program: str,
    name: str,
    path: Sequence[int],
    count: int,
    value: Any,
    shown: Callable[[Any], str] | None = None,
) -> ArgumentError:
    """Return the error for a value at `path` of an argument that is no tuple of `count`."""
    where = name + "".join(f"[{step}]" for step in path)
    return ArgumentError(
        f"Invalid argument types in call to '{program}'.\n"
        f"Expected argument '{where}' to be a tuple or collection of {count} "
        f"element{'s' * (count != 1)}, got '{(shown or describe)(value)}'."
    )


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
        # the domain of a scan's result is unknown before its walk
        own = value.dims if isinstance(value, ScanResult) else value.domain.dims
        fits = own == dims and value.dtype == dtype.name
        return value if fits else MISFIT
    number = MISFIT if dims else as_number(value, dtype)
    # a lane of a scan is a number, also where a field without dimensions is declared
    alone = number is MISFIT or isinstance(number, Lanes)
    return number if alone else make(number, Domain())


def as_number(value: Any, type_: ScalarType) -> Any:
    """Return a number of the declared type: a Python number if that has the same one.

    Other values give `MISFIT`.
    """
    value = member_value(value) if isinstance(value, enum.Enum) else value
    target = np.dtype(type_.name)
    if isinstance(value, Lanes | ActiveNumber):
        return value if value.dtype == target else MISFIT
    if isinstance(value, bool | np.generic):
        number = literal(value)
        return number if number.dtype == target else MISFIT
    number = of_same_value(value, type_.name)
    return MISFIT if number is None else number
