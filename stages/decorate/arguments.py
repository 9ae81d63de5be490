"""The arguments of a call as leaves by name, with the checks that a compiled program makes too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ...runtime.arguments import MISFIT, as_number, describe
from ...runtime.errors import ArgumentError, OverlapError, ReadOnlyError
from ...runtime.structure import elements
from ...runtime.types import FieldType, ScalarType, Type
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
        parts = elements(value) or ()
        if index >= len(parts):
            raise ArgumentError(
                f"Expected a tuple or collection with the leaf '{leaf.name}', "
                f"got '{describe(value)}'."
            )
        value = parts[index]
    return value


def _checked(leaf: Leaf, value: Any) -> Any:
    dtype = ScalarType(leaf.dtype)
    if leaf.kind == "scalar":
        number = as_number(value, dtype)
        if number is MISFIT:
            raise _mismatch(leaf, dtype, value)
        return number
    dims = getattr(value, "dims", None) if hasattr(value, "starts") else None
    if dims != leaf.dims or value.ndarray.dtype != leaf.dtype:
        raise _mismatch(leaf, FieldType(leaf.dims, dtype), value)
    return value


def _mismatch(leaf: Leaf, expected: Type, value: Any) -> ArgumentError:
    return ArgumentError(
        f"Expected argument '{leaf.name}' to be of type '{expected}', got '{describe(value)}'."
    )
