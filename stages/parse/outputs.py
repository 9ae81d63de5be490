"""The targets of `out=`: names, tuples of them, elements of tuples, and slices of fields."""

from __future__ import annotations

import ast
from typing import Any

from ...runtime.language import CollectionType, DataType, FieldType, TupleType, leaves
from ...runtime.process import MissingAttributeError, UndefinedSymbolError, classes
from ..ir import syntax
from .scope import Scope
from .unsupported import unsupported


@classes.frozen
class Target:
    """The target of `out=`: its type, and one output for each field in it."""

    type: DataType
    outputs: tuple[syntax.Output, ...]


def read_target(scope: Scope, node: ast.expr) -> Target:
    """Read a target; it may recurse, because Python limits the nesting of brackets."""
    match node:
        case ast.Tuple() | ast.List():
            parts = [read_target(scope, each) for each in node.elts]
            outputs = tuple(output for part in parts for output in part.outputs)
            return Target(TupleType(tuple(part.type for part in parts)), outputs)
        case ast.Subscript(slice=ast.Slice()):
            return _sliced(scope, node, [node.slice])
        case ast.Subscript(slice=ast.Tuple() as axes):
            return _sliced(scope, node, axes.elts)
        case ast.Name() | ast.Subscript() | ast.Attribute():
            name, type_, path = _element(scope, node)
            found = tuple(syntax.Output(name, (*path, *inner)) for inner, _ in leaves(type_))
            return Target(type_, found)
    raise scope.error(
        node,
        "Expected 'out' to be a parameter, a slice of one, or a tuple of them.",
        hints=["Write 'out=a', 'out=a[1:-1, :]' or 'out=(a, b)'."],
    )


def _element(scope: Scope, node: ast.expr) -> tuple[str, DataType, tuple[int, ...]]:
    """Resolve an element of a tuple parameter, such as `pair[0].u`."""
    steps: list[ast.Subscript | ast.Attribute] = []
    inner = node
    while isinstance(inner, ast.Subscript | ast.Attribute):
        steps.append(inner)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        raise scope.error(inner, "Expected 'out' to be a parameter of the program.")
    variable = scope.variables.get(inner.id)
    if variable is None:
        raise UndefinedSymbolError(scope.source.span(inner), inner.id, sorted(scope.variables))
    type_: Any = variable.type
    path: list[int] = []
    for step in reversed(steps):
        index = _index(scope, step, type_)
        path.append(index)
        type_ = type_.elements[index]
    return inner.id, type_, tuple(path)


def _index(scope: Scope, step: ast.Subscript | ast.Attribute, type_: DataType) -> int:
    if isinstance(step, ast.Attribute):
        if isinstance(type_, CollectionType) and step.attr in type_.keys:
            return type_.keys.index(step.attr)
        raise MissingAttributeError(scope.source.span(step), step.attr, owner=f"'{type_}'")
    if isinstance(step.slice, ast.Slice | ast.Tuple):
        raise unsupported(scope.source.span(step), step.slice)
    index = _integer(step.slice)
    if not isinstance(type_, TupleType | CollectionType):
        raise scope.type_error(
            step, f"Expected slices of a field, one for each dimension of '{type_}'."
        )
    count = len(type_.elements)
    if index is None or not -count <= index < count:
        raise scope.type_error(
            step.slice, f"Expected a literal index of a tuple of {count} elements."
        )
    return index % count


def _sliced(scope: Scope, node: ast.Subscript, axes: list[ast.expr]) -> Target:
    name, type_, path = _element(scope, node.value)
    if not isinstance(type_, FieldType):
        raise scope.type_error(node, f"Only fields can be sliced, got '{type_}'.")
    if len(axes) > len(type_.dims):
        raise scope.type_error(node, f"Too many indices for field '{type_}'.")
    slices = [_slice(scope, axis) for axis in axes]
    slices += [syntax.OutputSlice(None, None)] * (len(type_.dims) - len(axes))
    return Target(type_, (syntax.Output(name, path, slices=tuple(slices)),))


def _slice(scope: Scope, node: ast.expr) -> syntax.OutputSlice:
    if not isinstance(node, ast.Slice):
        raise scope.type_error(node, "Expected a slice, such as '1:-1' or ':'.")
    if node.step is not None:
        raise scope.error(node.step, "Slices of 'out' have no step.")
    return syntax.OutputSlice(_bound(scope, node.lower), _bound(scope, node.upper))


def _bound(scope: Scope, node: ast.expr | None) -> int | None:
    if node is None:
        return None
    value = _integer(node)
    if value is None:
        raise scope.error(
            node,
            "Bounds of a slice are literal integers.",
            hints=["For bounds that are known at the call use 'domain='."],
        )
    scope.number_type(value, node)
    return value


def _integer(node: ast.expr) -> int | None:
    sign = 1
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -sign if isinstance(node.op, ast.USub) else sign
        node = node.operand
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sign * node.value
    return None
