"""Flatten the arguments of a call to leaves by name, with the checks of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.embedded.arguments import MISFIT, as_number, describe
from ...runtime.calls.refusals import wrong_table
from ...runtime.fields.alignment import overlaps_itself
from ...runtime.fields.bare_array import advice
from ...runtime.language.structure import elements
from ...runtime.language.types import FieldType, ScalarType
from ...runtime.process.errors import ArgumentError, MissingOffsetError, OverlapError, ReadOnlyError
from ..ir.dataflow import Dataflow, Leaf, Table


def arguments_of(program: Dataflow, arguments: Sequence[Any]) -> dict[str, Any]:
    """Flatten positional arguments and check them against the leaves of the program."""
    expected = len(program.parameters)
    if len(arguments) != expected:
        raise ArgumentError(
            f"Function takes {expected} positional arguments, but {len(arguments)} were given."
        )
    given = {leaf.name: _inside(leaf, arguments) for leaf in program.leaves}
    found = {leaf.name: _fitting(leaf, given[leaf.name]) for leaf in program.leaves}
    wrong = [leaf for leaf in program.leaves if found[leaf.name] is MISFIT]
    if wrong:
        raise _wrong_types(program.name, wrong, given)
    written = {store.target: None for each in program.statements for store in each.stores}
    for name in written:
        if not found[name].ndarray.flags.writeable:
            raise ReadOnlyError(f"Argument '{name}' is written, but its memory is read-only.")
        if overlaps_itself(found[name].ndarray):
            raise OverlapError(
                f"Argument '{name}' is written, and its own elements share memory.",
                hint=f"Pass a copy of '{name}'.",
            )
    return found


def tables_of(program: Dataflow, provider: Mapping[str, Any]) -> dict[str, Any]:
    """Get the neighbour tables of a program from an offset provider, and check them."""
    return {table.name: _table(table, provider) for table in program.tables}


def _table(table: Table, provider: Mapping[str, Any]) -> Any:
    if table.name not in provider:
        raise MissingOffsetError(f"Offset '{table.name}' not found in offset provider.")
    given = provider[table.name]
    dims = (table.target, table.local)
    codomain = None if table.source is table.local else table.source
    fits = getattr(given, "__fieldforge_table__", False) and given.dims == dims
    if not fits or codomain not in (None, given.codomain):
        raise wrong_table(table.name, dims, codomain, given)
    missing = given.skip_value is not None
    if given.shape[1] != table.width or (missing and not table.skip):
        raise ArgumentError(
            f"Table '{table.name}' has {given.shape[1]} neighbours{', some missing' * missing}; "
            f"the program was built for {table.width}{', some missing' * table.skip}."
        )
    return given


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


def _fitting(leaf: Leaf, value: Any) -> Any:
    """Return the field or scalar for a leaf, or MISFIT if the type differs."""
    if leaf.kind == "scalar":
        return as_number(value, ScalarType(leaf.dtype))
    dims = getattr(value, "dims", None) if hasattr(value, "starts") else None
    return value if dims == leaf.dims and value.ndarray.dtype == leaf.dtype else MISFIT


def _wrong_types(name: str, wrong: Sequence[Leaf], given: Mapping[str, Any]) -> ArgumentError:
    lines, hints = [f"Invalid argument types in call to '{name}'."], []
    for leaf in wrong:
        dtype, value = ScalarType(leaf.dtype), given[leaf.name]
        expected = dtype if leaf.kind == "scalar" else FieldType(leaf.dims, dtype)
        lines.append(
            f"Expected argument '{leaf.name}' to be of type '{expected}', got '{describe(value)}'."
        )
        hint = advice(leaf.name, expected, value)
        hints += [hint] if hint else []
    return ArgumentError("\n".join(lines), hints=hints)
