"""Flatten the arguments of a call to leaves by name, with the checks of a compiled program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...runtime.calls.refused_arguments import parts_below, wrong_table
from ...runtime.embedded.arguments import (
    MISFIT,
    as_number,
    wrong_structure,
    wrong_types,
)
from ...runtime.fields import make, overlaps_itself
from ...runtime.language import Domain, FieldType, ScalarType, elements
from ...runtime.language.argument_binding import bind_arguments
from ...runtime.process import ArgumentError, MissingOffsetError, OverlapError, ReadOnlyError
from ..ir.dataflow import Dataflow, Leaf, Table


def arguments_of(program: Dataflow, arguments: Sequence[Any]) -> dict[str, Any]:
    """Take positional arguments apart and check them against the leaves of the program."""
    names = program.parameters
    ordered = tuple(bind_arguments(program.name, names, arguments, {}).values())
    given = {leaf.name: _inside(program, leaf, ordered) for leaf in program.leaves}
    written = {store.target: None for each in program.statements for store in each.stores}
    found = {
        leaf.name: _fitting(leaf, given[leaf.name], leaf.name in written) for leaf in program.leaves
    }
    wrong = [leaf for leaf in program.leaves if found[leaf.name] is MISFIT]
    if wrong:
        raise wrong_types(
            program.name, [(leaf.name, _type_of(leaf), given[leaf.name]) for leaf in wrong]
        )
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
    given = provider.get(table.name)
    if given is None:
        from ...runtime.meshes.transposed_tables import table_in  # for derivatives

        given = table_in(provider, table.name)
    if given is None:
        raise MissingOffsetError.of(table.name, provider)
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


def _inside(program: Dataflow, leaf: Leaf, arguments: Sequence[Any]) -> Any:
    """Follow the path of a leaf through tuples and named collections."""
    value = arguments[leaf.path[0]]
    for depth, index in enumerate(leaf.path[1:], 1):
        above, parts = leaf.path[:depth], elements(value)
        count = parts_below(above, [each.path for each in program.leaves])
        if parts is None or len(parts) != count:
            name = program.parameters[above[0]]
            raise wrong_structure(program.name, name, above[1:], count, value)
        value = parts[index]
    return value


def _fitting(leaf: Leaf, value: Any, is_written: bool) -> Any:
    """Return the field or scalar for a leaf, or MISFIT if the type differs.

    A number in the place of a field without dimensions is one, unless it is written.
    """
    if leaf.kind == "scalar":
        return as_number(value, ScalarType(leaf.dtype))
    if not leaf.dims and not hasattr(value, "starts") and not is_written:
        number = as_number(value, ScalarType(leaf.dtype))
        return number if number is MISFIT else make(number, Domain())
    dims = getattr(value, "dims", None) if hasattr(value, "starts") else None
    return value if dims == leaf.dims and value.ndarray.dtype == leaf.dtype else MISFIT


def _type_of(leaf: Leaf) -> FieldType | ScalarType:
    dtype = ScalarType(leaf.dtype)
    return dtype if leaf.kind == "scalar" else FieldType(leaf.dims, dtype)
