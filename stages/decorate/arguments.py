"""The arguments of a call as leaves by name, with the checks that a compiled program makes too."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...runtime.errors import ArgumentError, OverlapError, ReadOnlyError
from ...runtime.types import INTEGERS, FieldType, ScalarType
from ..ir.dataflow import Dataflow, Leaf


def arguments_of(program: Dataflow, arguments: Sequence[Any]) -> dict[str, Any]:
    """Take positional arguments apart and check them against the leaves of the program."""
    expected = len(program.parameters)
    if len(arguments) != expected:
        raise ArgumentError(
            f"Function takes {expected} positional arguments, but {len(arguments)} were given."
        )
    found = {leaf.name: _checked(leaf, _inside(leaf, arguments)) for leaf in program.leaves}
    written = {store.target: None for each in program.statements for store in each.stores}
    for name in written:
        if not found[name].ndarray.flags.writeable:
            raise ReadOnlyError(f"Argument '{name}' is written, but its memory is read-only.")
    for first, second in combinations(written, 2):
        if np.shares_memory(found[first].ndarray, found[second].ndarray):
            raise OverlapError(f"Arguments '{first}' and '{second}' are written and share memory.")
    return found


def _inside(leaf: Leaf, arguments: Sequence[Any]) -> Any:
    """Follow the path of a leaf through tuples and named collections."""
    value = arguments[leaf.path[0]]
    for index in leaf.path[1:]:
        elements = tuple(_elements(value))
        if index >= len(elements):
            raise ArgumentError(
                f"Expected a tuple or collection with the leaf '{leaf.name}', "
                f"got a value of type '{type(value).__name__}'."
            )
        value = elements[index]
    return value


def _elements(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        yield from value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield getattr(value, field.name)


def _checked(leaf: Leaf, value: Any) -> Any:
    if leaf.kind == "field":
        dims = getattr(value, "dims", None) if hasattr(value, "starts") else None
        if dims != leaf.dims or value.ndarray.dtype != leaf.dtype:
            raise _mismatch(leaf, value)
        return value
    while isinstance(value, enum.Enum) and not isinstance(value, int | float):
        value = value.value
    if not _is_number_of(value, leaf.dtype):
        raise _mismatch(leaf, value)
    return np.dtype(leaf.dtype).type(value)


def _is_number_of(value: Any, dtype: str) -> bool:
    """Tell whether a number is one of `dtype`; a Python integer is one of every type it fits in."""
    match value:
        case np.generic():
            return value.dtype == dtype
        case bool():
            return dtype == "bool"
        case int():
            return dtype in INTEGERS and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
        case float():
            return dtype == "float64"
    return False


def _mismatch(leaf: Leaf, value: Any) -> ArgumentError:
    dtype = ScalarType(leaf.dtype)
    expected = FieldType(leaf.dims, dtype) if leaf.kind == "field" else dtype
    if hasattr(value, "starts"):
        given = str(FieldType(tuple(value.dims), ScalarType(str(value.ndarray.dtype))))
    else:
        given = str(value.dtype) if isinstance(value, np.generic) else type(value).__name__
    return ArgumentError(
        f"Expected argument '{leaf.name}' to be of type '{expected}', got '{given}'."
    )
