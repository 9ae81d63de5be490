"""Classify free names for the key of a definition, without parsing anything."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...runtime.language import SCALARS, Definition, ScalarType
from ...runtime.language.generics import instances
from ..ir.literal import spell

TYPES: Final = {name: ScalarType(name) for name in SCALARS}
_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


def builtin_name(value: Any) -> str | None:
    """Return the name of a builtin of the language; Python's own `abs` is one too."""
    if value is builtins.abs:
        return "abs"
    name = _attribute(value, "__fieldforge_builtin__")
    return name if isinstance(name, str) else None


def is_number(value: Any) -> bool:
    """Tell whether `value` is a Python or NumPy number of a type that the language has."""
    if isinstance(value, np.generic):
        return value.dtype.name in SCALARS
    return isinstance(value, bool | int | float)


def number_type(value: Any) -> ScalarType | None:
    """Return the type of a number; None for an integer beyond 64 bits.

    >>> str(number_type(3)), str(number_type(2**40)), str(number_type(np.float32(1)))
    ('int32', 'int64', 'float32')
    """
    match value:
        case np.generic():
            return TYPES[value.dtype.name]
        case bool():
            return TYPES["bool"]
        case int():
            if value in _INT32:
                return TYPES["int32"]
            return TYPES["int64"] if value in _INT64 else None
    return TYPES["float64"]


def number_value(value: Any) -> Any:
    """Return the number behind `value`; a member of an enum counts as its value."""
    return value.value if isinstance(value, enum.Enum) else value


def number_text(value: Any) -> str:
    """Return the canonical spelling of a number.

    >>> number_text(True), number_text(3), number_text(np.float32(0.1)), number_text(-1e300)
    ('True', '3', '0.1', '-1e+300')
    """
    type_ = number_type(value)
    return str(value) if type_ is None else spell(np.dtype(type_.name).type(value))


def is_namespace(value: Any) -> bool:
    """Tell whether `value` holds constants by name: an enum class, or an object that is immutable.

    >>> is_namespace(enum.Enum("Level", "TOP BOTTOM")), is_namespace(3)
    (True, False)
    """
    if isinstance(value, type):
        return issubclass(value, enum.Enum)
    if bool(_attribute(type(value), "__fieldforge_namespace__")):
        return True
    return bool(_attribute(_attribute(type(value), "__dataclass_params__"), "frozen"))


def definition_of(value: Any) -> Definition | None:
    """Return the `Definition` behind a decorated function, None for everything else."""
    found = _attribute(value, "__definition__")
    return found if isinstance(found, Definition) else None


def member(members: Any, name: str) -> tuple[bool, Any]:
    """Look up a name in a namespace; treat any error of a lazy module as absence."""
    missing = object()
    try:
        found = getattr(members, name, missing)
    except Exception:
        return False, None
    return found is not missing, found


def reached_operators(definition: Definition) -> Mapping[str, Definition]:
    """Return the operators and scans that the code of `definition` may name, by path, sorted.

    The search visits each module once and reads only attributes that the code mentions.
    """
    found: dict[str, Definition] = {}
    for path, value in _in_sight(definition):
        operator = definition_of(value)
        if operator is not None and operator.kind != "program":
            found[path] = operator
    return dict(sorted(found.items()))


def objects_in_sight(definition: Definition) -> Iterator[Any]:
    """Yield what the code of `definition` may name, directly or through modules."""
    return (value for _, value in _in_sight(definition))


def _in_sight(definition: Definition) -> Iterator[tuple[str, Any]]:
    mentioned = sorted(definition.function.__code__.co_names)
    seen: set[int] = set()
    waiting = list(definition.closure)
    for path, value in waiting:  # grows during the loop; the shortest path to a module wins
        yield path, value
        if isinstance(value, ModuleType) and id(value) not in seen:
            seen.add(id(value))
            inside = ((name, member(value, name)) for name in mentioned)
            waiting += [(f"{path}.{name}", each) for name, (there, each) in inside if there]


def callees_of(definition: Definition) -> tuple[Definition, ...]:
    """Return the operators that a definition reaches, each once, sorted by path.

    In place of a generic operator stand its instances.
    """
    found = reached_operators(definition).values()
    unique = {id(each): each for one in found for each in instances(one)}
    return tuple(each for each in unique.values() if each is not definition)


def callees_first(root: Definition, is_done: Callable[[Definition], bool]) -> Iterator[Definition]:
    """Yield a definition and all that it calls, as far as they are not done, callees first.

    What is yielded is done before the next one is asked for. A worklist, because chains of calls
    may be long.
    """
    stack, begun = [root], set[Definition]()
    while stack:
        current = stack[-1]
        below = () if current in begun or is_done(current) else callees_of(current)
        begun.add(current)
        waiting = [each for each in below if each not in begun and not is_done(each)]
        stack += waiting
        if not waiting:
            stack.pop()
            if not is_done(current):
                yield current


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of a user's object may raise anything
        return None
