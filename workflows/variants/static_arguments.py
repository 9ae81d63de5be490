"""Static arguments: scalars whose values are compiled in and select the variant of a call."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...runtime.language import ScalarType, Type, leaves, leaves_of, type_of_value
from ...runtime.language.operations import of_same_value
from ...runtime.process import classes
from ...runtime.process.errors import DSLTypeError, FieldforgeError
from ...stages.ir.literal import number, spell
from .naming import leaf_name

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


def static_rows(
    types: Mapping[str, Type], names: Sequence[str], static: Static
) -> Iterator[tuple[str, object, Callable[[object], bool]]]:
    """Yield each static parameter with its value in a variant and a test for other values.

    A variant without values serves calls whose values are no numbers, and refuses them.
    """
    known = dict(static)
    for name in names:
        if not static:
            yield name, static_rows, _Unfit(types, name)
            continue
        wanted = tuple(
            (leaf, known[leaf])
            for leaf in (leaf_name(name, path) for path, _ in leaves(types[name]))
        )
        yield name, _single(types[name], wanted), _Same(types, name, wanted)


@classes.frozen
class _Same:
    """Tests whether a value is the variant's: whether the code spells it the same."""

    types: Mapping[str, Type]
    name: str
    wanted: Static

    def __call__(self, given: object) -> bool:
        return spelled(self.types, self.name, given) == self.wanted


@classes.frozen
class _Unfit:
    """Tests whether a value is no number of its type."""

    types: Mapping[str, Type]
    name: str

    def __call__(self, given: object) -> bool:
        try:
            spelled(self.types, self.name, given)
        except (KeyError, ValueError, OverflowError, TypeError):
            return True
        return False


def _single(type_: Type, wanted: Static) -> object:
    """Return the number of a scalar parameter, or the leaves of a tuple."""
    if isinstance(type_, ScalarType):
        return number(wanted[0][1], type_.name).item()
    return wanted


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
    if found != expected and _as_declared(value, expected) is None:
        raise DSLTypeError(
            None,
            f"Invalid static argument '{name}': expected '{expected}', but static value "
            f"'{value}' has type '{found}'.",
            hints=["Give a number that the type of the parameter represents exactly."],
        )
    return spelled(types, name, value)


def _as_declared(value: Any, type_: Type) -> Any:
    """Return a Python number as one of a scalar type; None if the type lacks that number."""
    return of_same_value(_plain(value), type_.name) if isinstance(type_, ScalarType) else None
