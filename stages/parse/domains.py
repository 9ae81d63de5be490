"""The `domain=` of a call in a program: a dict of ranges, or a tuple of them like the output."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from ...runtime.language.types import (
    CollectionType,
    DataType,
    FieldType,
    ScalarType,
    TupleType,
    leaves,
)
from ..ir import syntax
from .expressions import understand
from .meanings import Axis, describe
from .promotion import is_integral
from .scope import Scope

Domain: TypeAlias = tuple[syntax.DomainRange, ...]


def leaf_domains(
    scope: Scope, node: ast.expr, type_: DataType, read_bound: Callable[[Scope, ast.expr], None]
) -> tuple[Domain, ...]:
    """Return the domain of each field in an output of type `type_`."""
    if isinstance(node, ast.Tuple | ast.List):
        elements = type_.elements if isinstance(type_, TupleType | CollectionType) else ()
        if len(elements) != len(node.elts):
            raise scope.type_error(
                node, f"Expected 'domain' to have the structure of 'out', which is '{type_}'."
            )
        found: list[Domain] = []
        for each, element in zip(node.elts, elements, strict=True):
            found += leaf_domains(scope, each, element, read_bound)  # type: ignore[arg-type]
        return tuple(found)
    if not isinstance(node, ast.Dict):
        raise scope.error(
            node,
            "Expected 'domain' to be a dictionary of ranges, or a tuple of dictionaries.",
            hints=["Write 'domain={I: (0, n), J: (0, m)}'."],
        )
    ranges = _ranges(scope, node, read_bound)
    dims = tuple(each.dim for each in ranges)
    for _, leaf in leaves(type_):
        if isinstance(leaf, FieldType) and leaf.dims != dims:
            raise scope.type_error(
                node,
                "Dimensions in out field and field domain are not equivalent: expected "
                f"'{_names(leaf.dims)}', got '{_names(dims)}'.",
                hints=["Write the same dimensions in the same order."],
            )
    return (ranges,) * sum(1 for _ in leaves(type_))


def _ranges(scope: Scope, node: ast.Dict, read_bound: Callable[[Scope, ast.expr], None]) -> Domain:
    if not node.keys:
        raise scope.error(node, "Empty domain not allowed.", hints=["Leave 'domain' out."])
    ranges = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise scope.error(value, "Ranges of a domain are written one by one, without '**'.")
        meaning = understand(scope, key)
        if not isinstance(meaning, Axis):
            raise scope.type_error(
                key, f"Only dimensions can be keys of a domain, got {describe(meaning)}."
            )
        if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != 2:
            raise scope.type_error(
                value, "Expected 2 values for the start and the stop of a range."
            )
        start, stop = (_bound(scope, each, read_bound) for each in value.elts)
        ranges.append(syntax.DomainRange(meaning.dim, start, stop))
    return tuple(ranges)


def _bound(scope: Scope, node: ast.expr, read_bound: Callable[[Scope, ast.expr], None]) -> int:
    read_bound(scope, node)
    row = scope.value(node)
    if not isinstance(row.type, ScalarType) or not is_integral(row.type):
        raise scope.type_error(node, f"Bounds of a domain are integer scalars, got '{row.type}'.")
    return row.ref


def _names(dims: tuple[object, ...]) -> str:
    return ", ".join(getattr(dim, "value", str(dim)) for dim in dims)
