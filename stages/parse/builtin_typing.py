"""The builtins of the language: what each accepts and what it gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

import attrs

from ...runtime.dimension import check_dims
from ...runtime.errors import DomainError
from ...runtime.types import CollectionType, DataType, FieldType, ScalarType, TupleType
from ..ir import dataflow, syntax
from .arithmetic import combine, common_type
from .meanings import Axis, Builtin, Pack, Row, ScalarName, describe
from .promotion import (
    BOOL,
    Numeric,
    common_dims,
    dims_of,
    dtype_of,
    is_arithmetic,
    is_floating,
    is_logical,
    numeric,
    same_structure,
    with_dtype,
)
from .scope import Scope
from .unsupported import not_yet

BINARY: Final = {"minimum": "minimum", "maximum": "maximum", "power": "pow", "fmod": "fmod"}
MISSING: Final = {
    "neighbor_sum": "Reductions over neighbours",
    "max_over": "Reductions over neighbours",
    "min_over": "Reductions over neighbours",
    "concat_where": "Selects on regions ('concat_where')",
    "as_offset": "Data-dependent shifts ('as_offset')",
}


def call_builtin(scope: Scope, node: ast.Call, builtin: Builtin) -> Row:
    """Read a call of a builtin."""
    name = builtin.name
    if name in MISSING:
        raise not_yet(scope.source.span(node), f"{MISSING[name]} are")
    found = _rule(name)
    if found is None:
        raise scope.error(node, f"Builtin '{name}' can not be called in an operator.")
    count, rule = found
    if node.keywords:
        keyword = node.keywords[0]
        raise scope.type_error(
            keyword,
            f"Invalid call to '{name}'.",
            notes=[f"Builtin '{name}' takes no keyword argument '{keyword.arg}'."],
        )
    if len(node.args) != count:
        raise scope.type_error(
            node,
            f"Invalid call to '{name}'.",
            notes=[
                f"Function takes {count} positional arguments, but {len(node.args)} were given."
            ],
        )
    return rule(scope, node, name)


Rule = Callable[[Scope, ast.Call, str], Row]


def _rule(name: str) -> tuple[int, Rule] | None:
    if name in BINARY:
        return 2, _binary
    if name in dataflow.MATH or name in dataflow.UNARY or name in dataflow.PREDICATES:
        return 1, _unary
    return {"where": (3, _where), "broadcast": (2, _broadcast), "astype": (2, _astype)}.get(name)


def _unary(scope: Scope, node: ast.Call, name: str) -> Row:
    row = scope.value(node.args[0])
    if name in dataflow.UNARY:
        if not is_arithmetic(row.type):
            raise _unexpected(scope, node, 0, "a number", row.type)
    elif not is_floating(row.type):
        raise _unexpected(scope, node, 0, "a floating point type", row.type)
    type_ = with_dtype(numeric(row.type), BOOL) if name in dataflow.PREDICATES else row.type
    return scope.add(syntax.Operation(op=name, args=(row.ref,), type=type_), node)


def _binary(scope: Scope, node: ast.Call, name: str) -> Row:
    rows = [scope.value(each) for each in node.args]
    for index, row in enumerate(rows):
        if not is_arithmetic(row.type):
            raise _unexpected(scope, node, index, "a number", row.type)
    return combine(scope, node, BINARY[name], name, rows)


def _where(scope: Scope, node: ast.Call, _: str) -> Row:
    mask, then, otherwise = (scope.value(each) for each in node.args)
    if not (isinstance(mask.type, FieldType) and is_logical(mask.type)):
        raise scope.type_error(
            node.args[0],
            f"Expected 0-th argument to be a field of type 'bool', got '{mask.type}'.",
            hints=["To choose by a scalar condition write 'a if condition else b'."],
        )
    type_ = _choice(scope, node, mask.type, then.type, otherwise.type)
    return scope.add(
        syntax.Select(condition=mask.ref, then=then.ref, otherwise=otherwise.ref, type=type_), node
    )


def _choice(
    scope: Scope, node: ast.Call, mask: FieldType, then: DataType, otherwise: DataType
) -> DataType:
    """Return the type of a choice; recursive, because the nesting of tuples is bounded."""
    if isinstance(then, Numeric) and isinstance(otherwise, Numeric):
        both = common_type(scope, node, "where", [then, otherwise])
        dims = common_dims(mask.dims, dims_of(both))
        if dims is None:
            raise scope.type_error(
                node,
                f"Could not promote '{mask}' and '{both}' to common type in call to 'where'.",
                notes=["No field can have the dimensions of both."],
            )
        return FieldType(dims, dtype_of(both))
    if not isinstance(then, TupleType | CollectionType) or not same_structure(then, otherwise):
        raise scope.type_error(
            node,
            f"Expected 2nd and 3rd argument of 'where' to have the same structure, "
            f"got '{then}' and '{otherwise}'.",
        )
    return _map_elements(
        then, lambda index, each: _choice(scope, node, mask, each, _element(otherwise, index))
    )


def _broadcast(scope: Scope, node: ast.Call, _: str) -> Row:
    row = scope.value(node.args[0])
    if not isinstance(row.type, Numeric):
        raise _unexpected(scope, node, 0, "a field or scalar", row.type)
    given = scope.meanings[node.args[1]]
    axes = given.elements if isinstance(given, Pack) else ()
    dims = tuple(axis.dim for axis in axes if isinstance(axis, Axis))
    if not isinstance(given, Pack) or len(dims) < len(axes):
        raise scope.type_error(
            node.args[1],
            f"Expected 1-th argument to be a tuple of dimensions, got {describe(given)}.",
        )
    shown = ", ".join(dim.value for dim in dims)
    try:
        check_dims(dims)
    except DomainError as error:
        raise scope.type_error(node.args[1], error.message) from None
    for dim in dims_of(row.type):
        if dim not in dims:
            raise scope.type_error(
                node.args[1],
                f"Expected the dimensions of 'broadcast' to contain '{dim.value}' of '{row.type}', "
                f"got '{shown}'.",
            )
    return scope.add(syntax.Broadcast(arg=row.ref, type=FieldType(dims, dtype_of(row.type))), node)


def _astype(scope: Scope, node: ast.Call, _: str) -> Row:
    row = scope.value(node.args[0])
    target = scope.meanings[node.args[1]]
    if not isinstance(target, ScalarName):
        raise scope.type_error(
            node.args[1], f"Expected 1-th argument to be a scalar type, got {describe(target)}."
        )
    return scope.add(syntax.Cast(arg=row.ref, type=_converted(row.type, target.type)), node)


def _converted(type_: DataType, dtype: ScalarType) -> DataType:
    if isinstance(type_, Numeric):
        return with_dtype(type_, dtype)
    return _map_elements(type_, lambda __, each: _converted(each, dtype))


def _map_elements(
    type_: TupleType | CollectionType, change: Callable[[int, DataType], DataType]
) -> DataType:
    elements = tuple(change(index, _element(type_, index)) for index in range(len(type_.elements)))
    return attrs.evolve(type_, elements=elements)


def _element(type_: DataType, index: int) -> DataType:
    return type_.elements[index]  # type: ignore[union-attr,return-value]  # structures were compared


def _unexpected(
    scope: Scope, node: ast.Call, index: int, expected: str, type_: DataType
) -> Exception:
    return scope.type_error(
        node.args[index], f"Expected {index}-th argument to be {expected}, got '{type_}'."
    )
