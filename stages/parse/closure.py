"""Resolve the free names of a definition: dimensions, operators, builtins, types, constants."""

from __future__ import annotations

import ast
import enum
from types import ModuleType
from typing import Any, Final

import numpy as np

from ...runtime.language import (
    SCALARS,
    CollectionType,
    Dimension,
    FieldOffset,
    OffsetType,
    ScalarType,
    TupleType,
    type_from_annotation,
    with_annotated_types,
)
from ...runtime.language.collection import is_collection
from ...runtime.process import FieldforgeError, classes
from .free_names import builtin_name, definition_of, is_namespace, is_number, number_type
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
MAX_DEPTH: Final = 32


def meaning_of(value: Any, path: str, node: ast.expr) -> Meaning | None:
    """Return the meaning of an object inside an operator; None if it has none."""
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
        return _pack(with_annotated_types(value), path, node)
    if isinstance(value, type):
        return _class(value)
    name = builtin_name(value)
    return None if name is None else Builtin(name)


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
    pack = Pack(tuple(elements), (node,) * len(elements))
    if not is_collection(type(value)):
        return pack
    found = _class(type(value))
    if not isinstance(found, CollectionName) or not _fits(pack, found.type):
        return None
    return classes.evolve(pack, type=found.type)


def _fits(meaning: Meaning, type_: Any) -> bool:
    """Tell whether the numbers of a constant are those of its class."""
    if isinstance(meaning, Number):
        return bool(number_type(meaning.value) == type_)
    if not isinstance(meaning, Pack) or not isinstance(type_, TupleType | CollectionType):
        return False
    count = len(type_.elements)
    return len(meaning.elements) == count and all(map(_fits, meaning.elements, type_.elements))


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
