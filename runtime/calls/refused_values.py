"""Find and describe the arguments of a refused call, by their number in the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import FieldView
from ..embedded.arguments import describe
from ..fields.bare_array import with_fields
from ..language.structure import elements
from ..language.types import FieldType, ScalarType
from ..meshes.transposed_tables import table_in
from .plan import Argument, Plan


def value_of(plan: Plan, arguments: Sequence[Any], index: int) -> Any:
    """Return the field or table of an argument; the provider stands behind the arguments."""
    argument = plan.arguments[index]
    if argument.kind == "table":
        return table_in(arguments[len(plan.parameters)], argument.name)
    return with_fields(type_of(argument), value_at(arguments, argument.path))


def value_at(arguments: Sequence[Any], path: Sequence[int]) -> Any:
    """Return the leaf at `path`: the number of a parameter, then the places in its tuples."""
    value = arguments[path[0]]
    for step in path[1:]:
        value = (elements(value) or ())[step]
    return value


def type_of(argument: Argument) -> FieldType | ScalarType:
    """Return the type that a field or scalar must have."""
    dtype = ScalarType(argument.dtype)
    return FieldType(argument.dims, dtype) if argument.kind == "field" else dtype


def shown(value: Any) -> str:
    """Return how an error shows a value: a field by its type, all else as `describe` does."""
    is_table = getattr(value, "__fieldforge_table__", False)
    if isinstance(value, FieldView) and value.dtype_name != "none" and not is_table:
        return str(FieldType(value.dims, ScalarType(value.dtype_name)))
    return describe(value)
