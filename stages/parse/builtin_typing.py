"""Type rules of the builtins: the arguments that each accepts and the type of its result."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final, TypeAlias

from ...runtime.language import (
    FLOATS,
    CollectionType,
    DataType,
    DimensionKind,
    DomainType,
    FieldType,
    ScalarType,
    TupleType,
    check_dims,
)
from ...runtime.language.operations import POINTWISE
from ...runtime.process import DomainError, classes
from ..ir import syntax
from .arithmetic import combine, common_type, written_as
from .meanings import Axis, Builtin, Meaning, Number, Pack, Row, ScalarName, describe
from .promotion import (
    BOOL,
    Numeric,
    RowType,
    common_dims,
    dims_of,
    dtype_of,
    is_arithmetic,
    is_floating,
    is_logical,
    same_structure,
    with_dtype,
)
from .regions import expect_region, is_region
from .scope import Scope
from .shifts import as_offset, without
from .source import Located

_Chooser: TypeAlias = FieldType | DomainType


def _where(scope: Scope, node: ast.Call, name: str) -> Row:
    """Read `where(mask, a, b)`."""
    mask, then, otherwise = (scope.value(each) for each in node.args)
    if not (isinstance(mask.type, FieldType) and is_logical(mask.type)):
        hint = "To choose by a scalar condition write 'a if condition else b'."
        if is_region(mask):
            hint = "To choose by a region write 'concat_where(region, a, b)'."
        raise scope.type_error(
            node.args[0],
            f"Expected 0-th argument to be a field of type 'bool', got '{mask.type}'.",
            notes=["'where(mask, a, b)' chooses at every point, so its mask is a field of 'bool'."],
            hints=[hint],
        )
    type_ = _choice(scope, node, name, mask.type, then.type, otherwise.type)
    return scope.add(
        syntax.Select(condition=mask.ref, then=then.ref, otherwise=otherwise.ref, type=type_), node
    )


def _concat_where(scope: Scope, node: ast.Call, name: str) -> Row:
    """Read `concat_where(region, a, b)`."""
    region = expect_region(scope, node.args[0])
    then, otherwise = (scope.value(each) for each in node.args[1:])
    assert isinstance(region.type, DomainType)  # `expect_region` checked
    type_ = _choice(scope, node, name, region.type, then.type, otherwise.type)
    return scope.add(
        syntax.ConcatWhere(region=region.ref, then=then.ref, otherwise=otherwise.ref, type=type_),
        node,
    )


def _choice(
    scope: Scope, node: ast.Call, name: str, chooser: _Chooser, then: RowType, otherwise: RowType
) -> DataType:
    """Return the type of a choice; it may recurse, because the nesting of tuples is bounded."""
    if isinstance(then, Numeric) and isinstance(otherwise, Numeric):
        both = common_type(scope, node, name, [then, otherwise])
        dims = common_dims(chooser.dims, dims_of(both))
        if dims is None:
            raise scope.type_error(
                node,
                f"Could not promote '{chooser}' and '{both}' to common type in call to '{name}'.",
                notes=["No field can have the dimensions of both."],
            )
        return FieldType(dims, dtype_of(both))
    if not isinstance(then, TupleType | CollectionType) or not same_structure(then, otherwise):
        raise scope.type_error(
            node,
            f"Expected 2nd and 3rd argument of '{name}' to have the same structure, "
            f"got '{then}' and '{otherwise}'.",
        )
    return _map_elements(
        then,
        lambda index, each: _choice(scope, node, name, chooser, each, _element(otherwise, index)),
    )


def _map_elements(
    type_: TupleType | CollectionType, change: Callable[[int, DataType], DataType]
) -> DataType:
    """Return the tuple type with `change` applied to each pair of elements."""
    elements = tuple(change(index, _element(type_, index)) for index in range(len(type_.elements)))
    return classes.evolve(type_, elements=elements)


def _element(type_: RowType, index: int) -> DataType:
    return type_.elements[index]  # type: ignore[union-attr,return-value]  # structures were compared


REDUCTIONS: Final = {"neighbor_sum": "sum", "max_over": "max", "min_over": "min"}


def call_builtin(scope: Scope, node: ast.Call, builtin: Builtin) -> Meaning:
    """Read a call of a builtin."""
    name = builtin.name
    if name in REDUCTIONS:
        return _reduction(scope, node, name)
    found = _rule(name)
    if found is None:
        raise scope.error(node, f"Builtin '{name}' can not be called in an operator.")
    count, rule = found
    if node.keywords:
        keyword = node.keywords[0]
        raise _invalid(
            scope, keyword, name, f"Builtin '{name}' takes no keyword argument '{keyword.arg}'."
        )
    if len(node.args) != count:
        given = len(node.args)
        raise _invalid(
            scope,
            node,
            name,
            f"Function takes {count} positional arguments, but {given} were given.",
        )
    return rule(scope, node, name)


Rule = Callable[[Scope, ast.Call, str], Meaning]


def _rule(name: str) -> tuple[int, Rule] | None:
    if name in POINTWISE:
        return POINTWISE[name].arity, _pointwise
    return _RULES.get(name)


def _pointwise(scope: Scope, node: ast.Call, name: str) -> Row:
    """Read a call of an operation of the table."""
    operation = POINTWISE[name]
    rows = [scope.value(each) for each in node.args]
    for index, row in enumerate(rows):
        if operation.takes is FLOATS and not is_floating(row.type):
            raise _unexpected(scope, node, index, "a floating point type", row.type)
        if not is_arithmetic(row.type):
            raise _unexpected(scope, node, index, "a number", row.type)
    result = BOOL if operation.gives == "bool" else None
    return combine(scope, node, operation.name, name, rows, result=result)


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
    if not isinstance(row.type, Numeric | TupleType | CollectionType):
        raise _unexpected(scope, node, 0, "a scalar, field or tuple", row.type)
    return scope.add(syntax.Cast(arg=row.ref, type=_converted(row.type, target.type)), node)


def _converted(type_: RowType, dtype: ScalarType) -> DataType:
    if isinstance(type_, Numeric):
        return with_dtype(type_, dtype)
    assert isinstance(type_, TupleType | CollectionType)  # `_astype` checked
    return _map_elements(type_, lambda __, each: _converted(each, dtype))


def _reduction(scope: Scope, node: ast.Call, name: str) -> Row:
    """Read `neighbor_sum(f, axis=L)`."""
    axes = [keyword.value for keyword in node.keywords if keyword.arg == "axis"]
    others = [keyword for keyword in node.keywords if keyword.arg != "axis"]
    if others:
        text = f"Builtin '{name}' takes no keyword argument '{others[0].arg}'."
        raise _invalid(scope, others[0], name, text)
    if len(node.args) != 1 or len(axes) != 1:
        at = node.args[1] if len(node.args) > 1 else node
        raise _invalid(
            scope, at, name, f"Write '{name}(f, axis=L)' with one field and its local dimension."
        )
    row, axis = scope.value(node.args[0]), scope.meanings[axes[0]]
    if not isinstance(axis, Axis) or axis.dim.kind is not DimensionKind.LOCAL:
        raise scope.type_error(
            axes[0], f"Expected 'axis' to be a local dimension, got {describe(axis)}."
        )
    if not isinstance(row.type, FieldType) or axis.dim not in row.type.dims:
        raise scope.type_error(
            node.args[0],
            f"Expected a field with dimension '{axis.dim.value}', got '{row.type}'.",
            hints=[f"Apply a field to the offset of '{axis.dim.value}' to get its neighbours."],
        )
    if not is_arithmetic(row.type):
        raise _unexpected(scope, node, 0, "a field of numbers", row.type)
    type_ = without(row.type, axis.dim)
    return scope.add(
        syntax.Reduction(op=REDUCTIONS[name], field=row.ref, dim=axis.dim, type=type_), node
    )


def _as_offset(scope: Scope, node: ast.Call, _: str) -> Meaning:
    return as_offset(scope, node)


def _unexpected(
    scope: Scope, node: ast.Call, index: int, expected: str, type_: RowType
) -> Exception:
    given = scope.meanings[node.args[index]]
    hints = []
    if isinstance(given, Number) and type(given.value) is int and "float" in expected:
        hints = [written_as(scope, given, "float64")]
    return scope.type_error(
        node.args[index],
        f"Expected {index}-th argument to be {expected}, got '{type_}'.",
        hints=hints,
    )


def _invalid(scope: Scope, at: Located, name: str, note: str) -> Exception:
    return scope.type_error(at, f"Invalid call to '{name}'.", notes=[note])


_RULES: Final[dict[str, tuple[int, Rule]]] = {
    "where": (3, _where),
    "concat_where": (3, _concat_where),
    "broadcast": (2, _broadcast),
    "astype": (2, _astype),
    "as_offset": (2, _as_offset),
}
OTHERS: Final = (*REDUCTIONS, *_RULES)
