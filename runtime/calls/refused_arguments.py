"""Compose the errors of a refused call about types, domains, shared memory and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._core import FieldView
from ..embedded.arguments import describe, wrong_structure, wrong_types
from ..fields import beyond
from ..fields.bare_array import with_fields
from ..language import Dimension, FieldType, ScalarType, UnitRange, elements
from ..meshes.transposed_tables import table_in
from ..process import ArgumentError, DomainError, MissingOffsetError, OverlapError, ReadOnlyError
from .plan import Argument, Plan


def wrong_parts(plan: Plan, arguments: Sequence[Any], index: int, depth: int) -> ArgumentError:
    """Return the error for a value that is no tuple of the right length `depth` steps down."""
    above = plan.arguments[index].path[: depth + 1]
    count = parts_below(above, [each.path for each in plan.arguments])
    name, value = plan.parameters[above[0]], _value_at(arguments, above)
    return wrong_structure(plan.program, name, above[1:], count, value, _shown)


def parts_below(above: Sequence[int], paths: Sequence[Sequence[int]]) -> int:
    """Return the number of parts of the tuple at path `above`, from the paths of all leaves."""
    own = [path for path in paths if tuple(path[: len(above)]) == tuple(above)]
    return 1 + max(path[len(above)] for path in own)


def wrong_type(plan: Plan, arguments: Sequence[Any], *indices: int) -> ArgumentError:
    """Return the error for all arguments that have a wrong type."""
    found = [plan.arguments[index] for index in indices]
    leaves = [(each.name, _type_of(each), _value_at(arguments, each.path)) for each in found]
    return wrong_types(plan.program, leaves, _shown)


def scalar_out_of_range(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    """Return the error for an integer that its dtype cannot hold."""
    argument = plan.arguments[index]
    return ArgumentError(
        f"Invalid argument types in call to '{plan.program}'.\n"
        f"Expected argument '{argument.name}' to be of type '{argument.dtype}', "
        f"got {_value_at(arguments, argument.path)}, which does not fit."
    )


def read_only(plan: Plan, _: Sequence[Any], index: int) -> ReadOnlyError:
    """Return the error for an output in read-only memory."""
    name = plan.arguments[index].name
    return ReadOnlyError(
        f"Argument '{name}' is written, but its memory is read-only.",
        hint=f"Pass a copy of '{name}', or set 'flags.writeable' before making the field.",
    )


def misaligned(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    """Return the error for a field whose elements do not lie at multiples of their size."""
    argument = plan.arguments[index]
    strides = value_of(plan, arguments, index).strides
    return ArgumentError(
        f"Argument '{argument.name}' has elements of type '{argument.dtype}' that are not "
        f"aligned: its strides are {strides} bytes.",
        hint=f"Pass a copy of '{argument.name}'.",
    )


def outside_domain(plan: Plan, arguments: Sequence[Any], *detail: int) -> DomainError:
    """Return the error for a field or table that ends too early along one dimension."""
    index, axis, start, stop, written = detail
    argument = plan.arguments[index]
    field = value_of(plan, arguments, index)
    done = "writes" if written else "reads"
    covered = (field.starts[axis], field.stops[axis])
    kind, dim = "Table" if argument.kind == "table" else "Field", argument.dims[axis]
    error = too_small(argument.name, dim, done, (start, stop), covered, kind)
    given = arguments[len(plan.parameters) :]
    tables = given[0] if given and isinstance(given[0], Mapping) else {}
    error.hints = (*beyond(tables, dim, UnitRange(*covered)), *error.hints)
    return error


def too_small(
    name: str,
    dim: Dimension,
    done: str,
    needed: tuple[int, int],
    covered: tuple[int, int],
    kind: str = "Field",
) -> DomainError:
    """Return the error for a field or table that does not cover what a program reads or writes."""
    hints = [f"Make '{name}' larger, or write a smaller domain."]
    if needed[0] < covered[0] == 0 and needed[1] - needed[0] <= covered[1]:
        hints.insert(
            0,
            f"It has enough points, but its indices begin at 0, as those of arrays do: give them, "
            f"as in 'as_field({{{dim.value}: ({needed[0]}, {needed[1]}), ...}}, {name})'.",
        )
    return DomainError(
        f"{kind} '{name}' is too small: along '{dim.value}' the program {done} "
        f"{needed[0]}:{needed[1]}, but '{name}' covers {covered[0]}:{covered[1]}.",
        hints=hints,
    )


def overlapping_outputs(plan: Plan, _: Sequence[Any], *indices: int) -> OverlapError:
    """Return the error for outputs that share memory; one number if an output meets itself."""
    names = [plan.arguments[index].name for index in sorted(indices)]
    if len(names) == 1:
        return OverlapError(
            f"Argument '{names[0]}' is written, and its own elements share memory.",
            hint=f"Pass a copy of '{names[0]}'.",
        )
    if names[0] == names[1]:
        return OverlapError(f"One statement writes parts of '{names[0]}' that overlap.")
    return OverlapError(
        f"Arguments '{names[0]}' and '{names[1]}' are written by one statement and share memory."
    )


def overlapping_input(plan: Plan, _: Sequence[Any], written: int, read: int) -> OverlapError:
    """Return the error for an input that a statement overwrites before its last read."""
    output, source = plan.arguments[written].name, plan.arguments[read].name
    return OverlapError(
        f"Arguments '{output}' and '{source}' share memory, and '{source}' is still read after "
        "a part of it is written.",
        hint=f"Pass a copy of '{source}'.",
    )


def missing_table(plan: Plan, arguments: Sequence[Any], index: int) -> MissingOffsetError:
    """Return the error for a table that the offset provider does not have."""
    name, provider = plan.arguments[index].name, arguments[-1]
    return MissingOffsetError.of(name, provider if isinstance(provider, Mapping) else ())


def other_table(plan: Plan, arguments: Sequence[Any], index: int) -> ArgumentError:
    """Return the error for what the offset provider holds in the place of a table."""
    argument, value = plan.arguments[index], value_of(plan, arguments, index)
    return wrong_table(argument.name, argument.dims, argument.codomain, value)


def wrong_table(
    name: str, dims: Sequence[Dimension], codomain: Dimension | None, value: Any
) -> ArgumentError:
    """Return the error for a table of other dimensions, or for a value that is no table."""
    wanted = f"({_listed(dims)})"
    got = f"'{_shown(value)}'"
    if getattr(value, "__fieldforge_table__", False):
        got = f"one over ({_listed(value.dims)})"
        if codomain is not None and value.dims == tuple(dims):
            wanted = f"{wanted} of indices along '{codomain.value}'"
            got = f"one of indices along '{value.codomain.value}'"
    return ArgumentError(
        f"Expected offset '{name}' in the offset provider to be a neighbour table over {wanted}, "
        f"got {got}.",
        hint=as_written(name, dims, codomain),
    )


def as_written(name: str, dims: Sequence[Dimension], codomain: Dimension | None) -> str:
    """Return how to make the table that an offset needs."""
    target = "" if codomain is None else f", codomain={codomain.value}"
    return (
        f"Make it with 'as_connectivity([{_listed(dims)}]{target}, data=table)'; of a mesh pass "
        f"'mesh.connectivities({name})'."
    )


def _listed(dims: Sequence[Dimension]) -> str:
    return ", ".join(dim.value for dim in dims)


def value_of(plan: Plan, arguments: Sequence[Any], index: int) -> Any:
    """Return the field or table of an argument; the provider stands behind the arguments."""
    argument = plan.arguments[index]
    if argument.kind == "table":
        return table_in(arguments[len(plan.parameters)], argument.name)
    return with_fields(_type_of(argument), _value_at(arguments, argument.path))


def _value_at(arguments: Sequence[Any], path: Sequence[int]) -> Any:
    """Return the leaf at `path`: the number of a parameter, then the places in its tuples."""
    value = arguments[path[0]]
    for step in path[1:]:
        value = (elements(value) or ())[step]
    return value


def _type_of(argument: Argument) -> FieldType | ScalarType:
    """Return the type that a field or scalar must have."""
    dtype = ScalarType(argument.dtype)
    return FieldType(argument.dims, dtype) if argument.kind == "field" else dtype


def _shown(value: Any) -> str:
    """Return how an error shows a value: a field by its type, all else as `describe` does."""
    is_table = getattr(value, "__fieldforge_table__", False)
    if isinstance(value, FieldView) and value.dtype_name != "none" and not is_table:
        return str(FieldType(value.dims, ScalarType(value.dtype_name)))
    return describe(value)
