"""Choices between two values, element by element: `where` and `concat_where`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from ...runtime.language.types import CollectionType, DataType, DomainType, FieldType, TupleType
from ...runtime.process import classes
from ..ir import syntax
from .arithmetic import common_type
from .meanings import Row
from .promotion import Numeric, RowType, common_dims, dims_of, dtype_of, is_logical, same_structure
from .regions import expect_region, is_region
from .scope import Scope

Chooser: TypeAlias = FieldType | DomainType


def where(scope: Scope, node: ast.Call, name: str) -> Row:
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


def concat_where(scope: Scope, node: ast.Call, name: str) -> Row:
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
    scope: Scope, node: ast.Call, name: str, chooser: Chooser, then: RowType, otherwise: RowType
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
    return map_elements(
        then,
        lambda index, each: _choice(scope, node, name, chooser, each, _element(otherwise, index)),
    )


def map_elements(
    type_: TupleType | CollectionType, change: Callable[[int, DataType], DataType]
) -> DataType:
    """Return the tuple type with `change` applied to each pair of elements."""
    elements = tuple(change(index, _element(type_, index)) for index in range(len(type_.elements)))
    return classes.evolve(type_, elements=elements)


def _element(type_: RowType, index: int) -> DataType:
    return type_.elements[index]  # type: ignore[union-attr,return-value]  # structures were compared
