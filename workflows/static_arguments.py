"""Static arguments: scalars whose values are compiled in, and how a call is told by them."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..runtime.errors import DSLTypeError, FieldforgeError
from ..runtime.structure import elements, leaves_of
from ..runtime.types import ScalarType, Type, leaves, type_of_value
from ..stages.ir.literal import spell
from .variants import leaf_name

Static: TypeAlias = tuple[tuple[str, str], ...]


def combinations(types: Mapping[str, Type], given: Mapping[str, Sequence[Any]]) -> Iterator[Static]:
    """Yield every combination of static values, as leaves and their canonical spelling.

    >>> int32 = ScalarType("int32")
    >>> list(combinations({"n": int32, "m": int32}, {"n": [1, 2], "m": [3]}))
    [(('m', '3'), ('n', '1')), (('m', '3'), ('n', '2'))]
    """
    columns = [[_checked(name, types, value) for value in given[name]] for name in sorted(given)]
    for row in itertools.product(*columns):
        yield tuple(itertools.chain.from_iterable(row))


def check_names(types: Mapping[str, Type], names: Iterable[str], program: str) -> None:
    """Refuse static parameters that do not exist, or whose values cannot be compiled in."""
    for name in names:
        if name not in types:
            raise DSLTypeError(
                None,
                f"Invalid parameter expression '{name}' in the static parameters of '{program}'.",
                hints=[f"Its parameters are {', '.join(map(repr, types)) or 'none'}."],
            )
        if any(not isinstance(leaf, ScalarType) for _, leaf in leaves(types[name])):
            raise DSLTypeError(
                None,
                f"Invalid static argument '{name}' with type '{types[name]}'.",
                hints=["Only scalars and tuples of scalars can be static."],
            )


def spelled(types: Mapping[str, Type], name: str, value: Any) -> Static:
    """Return the static leaves of the argument of a call; `ValueError` if it does not fit."""
    found = dict(leaves_of(_plain(value)))
    return tuple(
        (leaf_name(name, path), _text(found[path], leaf))
        for path, leaf in leaves(types[name])
        if isinstance(leaf, ScalarType)
    )


def key_of(value: Any) -> Hashable:
    """Return what tells one static value from another: zeros have signs, NaN is equal to itself."""
    if isinstance(value, bool | int | float | np.generic):
        return str(value) if value != value or not value else value  # noqa: PLR0124 - NaN
    if isinstance(value, enum.Enum):
        return key_of(value.value)
    parts = elements(value)
    return id(value) if parts is None else tuple(map(key_of, parts))


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _text(value: Any, type_: ScalarType) -> str:
    value = _plain(value)
    if not isinstance(value, bool | int | float | np.generic):
        raise ValueError("Only numbers are static.")
    return spell(np.dtype(type_.name).type(value))


def _checked(name: str, types: Mapping[str, Type], value: Any) -> Static:
    expected = types[name]
    try:
        found: Any = type_of_value(value)
    except FieldforgeError:
        found = type(value).__name__
    if found != expected:
        raise DSLTypeError(
            None,
            f"Invalid static argument '{name}': expected '{expected}', but static value "
            f"'{value}' has type '{found}'.",
            hints=["Numbers are never converted silently; give one of the type of the parameter."],
        )
    return spelled(types, name, value)
