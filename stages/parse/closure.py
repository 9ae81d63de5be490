"""What the free names of a definition mean: dimensions, operators, builtins, types, constants."""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...runtime.annotations import type_from_annotation
from ...runtime.collection import is_collection
from ...runtime.connectivity import FieldOffset
from ...runtime.definition import Definition
from ...runtime.dimension import Dimension
from ...runtime.errors import FieldforgeError
from ...runtime.types import SCALARS, CollectionType, OffsetType, ScalarType
from ..ir.literal import spell
from .meanings import (
    Axis,
    Builtin,
    CollectionName,
    Meaning,
    Namespace,
    Number,
    OffsetTag,
    OperatorName,
    Pack,
    ScalarName,
)

PYTHON_SCALARS: Final = {
    bool: ("bool", np.bool_),
    int: ("int64", np.int64),
    float: ("float64", np.float64),
}
NUMPY_SCALARS: Final = {np.dtype(name).type: name for name in SCALARS}
TYPES: Final = {name: ScalarType(name) for name in SCALARS}
MAX_DEPTH: Final = 32
_INT32: Final = range(-(2**31), 2**31)
_INT64: Final = range(-(2**63), 2**63)


def meaning_of(value: Any, path: str, node: ast.expr) -> Meaning | None:
    """Return what an object means to an operator; None for objects that mean nothing."""
    if isinstance(value, Dimension):
        return Axis(value)
    if isinstance(value, FieldOffset):
        return OffsetTag(OffsetType(value.value, value.source, value.target))
    if isinstance(value, ModuleType) or is_namespace(value):
        return Namespace(path, value)
    definition = definition_of(value)
    if definition is not None:
        return OperatorName(path, definition)
    if isinstance(value, enum.Enum):
        value = value.value
    if is_number(value):
        return Number(value)
    if isinstance(value, tuple):
        return _pack(value, path, node)
    if isinstance(value, type):
        return _class(value)
    name = builtin_name(value)
    return None if name is None else Builtin(name)


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
    if isinstance(value, np.generic):
        return TYPES[value.dtype.name]
    if isinstance(value, bool):
        return TYPES["bool"]
    if isinstance(value, int):
        if value in _INT32:
            return TYPES["int32"]
        return TYPES["int64"] if value in _INT64 else None
    return TYPES["float64"]


def number_text(value: Any) -> str:
    """Return the canonical spelling of a number.

    >>> number_text(True), number_text(3), number_text(np.float32(0.1)), number_text(-1e300)
    ('True', '3', '0.1', '-1e+300')
    """
    type_ = number_type(value)
    return str(value) if type_ is None else spell(np.dtype(type_.name).type(value))


def is_namespace(value: Any) -> bool:
    """Tell whether `value` holds constants by name: an enum class or an immutable namespace."""
    if isinstance(value, type):
        return issubclass(value, enum.Enum)
    return bool(_attribute(type(value), "__fieldforge_namespace__"))


def definition_of(value: Any) -> Definition | None:
    """Return the `Definition` behind a decorated function, None for everything else."""
    found = _attribute(value, "__definition__")
    return found if isinstance(found, Definition) else None


def member(members: Any, name: str) -> tuple[bool, Any]:
    """Look up a name in a namespace; a lazy module may raise anything, which means absent."""
    missing = object()
    try:
        found = getattr(members, name, missing)
    except Exception:
        return False, None
    return found is not missing, found


def reached_operators(definition: Definition) -> Mapping[str, Definition]:
    """Return the field operators that the code of `definition` may name, by path, sorted.

    Modules are looked into once each, and only under attributes that the code mentions.
    """
    mentioned = sorted(definition.function.__code__.co_names)
    found: dict[str, Definition] = {}
    seen: set[int] = set()
    waiting = list(definition.closure)
    for path, value in waiting:  # grows while it is walked: the nearest path to a module wins
        operator = definition_of(value)
        if operator is not None and operator.kind == "field_operator":
            found[path] = operator
        elif isinstance(value, ModuleType) and id(value) not in seen:
            seen.add(id(value))
            inside = ((name, member(value, name)) for name in mentioned)
            waiting += [(f"{path}.{name}", each) for name, (there, each) in inside if there]
    return dict(sorted(found.items()))


def _pack(value: tuple[Any, ...], path: str, node: ast.expr, depth: int = 0) -> Meaning | None:
    if depth > MAX_DEPTH:
        return None
    elements: list[Meaning] = []
    for each in value:
        inner = (
            _pack(each, path, node, depth + 1)
            if isinstance(each, tuple)
            else meaning_of(each, path, node)
        )
        if not isinstance(inner, Number | Pack | Axis):
            return None
        elements.append(inner)
    return Pack(tuple(elements), (node,) * len(elements))


def _class(value: type) -> Meaning | None:
    if value in PYTHON_SCALARS:
        name, constructor = PYTHON_SCALARS[value]
        return ScalarName(value.__name__, ScalarType(name), (value, constructor))
    if value in NUMPY_SCALARS:
        name = NUMPY_SCALARS[value]
        return ScalarName(name, ScalarType(name), (value,))
    if is_collection(value):
        try:
            found = type_from_annotation(value)
        except FieldforgeError:
            return None
        return CollectionName(found) if isinstance(found, CollectionType) else None
    return None


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of somebody's object may raise anything
        return None
