"""Read the parameters and annotations of a definition."""

from __future__ import annotations

import ast
from typing import Any

from ...runtime.language import (
    CollectionType,
    DataType,
    Definition,
    FieldType,
    ScalarType,
    TupleType,
    type_from_annotation,
)
from ...runtime.process import (
    FieldforgeError,
    InvalidAnnotationError,
    InvalidParameterAnnotationError,
    MissingParameterAnnotationError,
)
from ..ir import syntax
from .scope import Scope, Variable
from .source import Located

DATA = (ScalarType, FieldType, TupleType, CollectionType)


def read_parameters(scope: Scope, definition: Definition) -> tuple[syntax.Parameter, ...]:
    """Return the parameters and bring their names into scope."""
    arguments = scope.source.function.args
    _refuse_other_kinds(scope, arguments)
    annotations = dict(definition.annotations)
    parameters = []
    for each in arguments.args:
        if each.annotation is None:
            raise MissingParameterAnnotationError(scope.source.span(each), each.arg)
        type_ = _type(scope, each.annotation, annotations.get(each.arg, each.annotation))
        if not isinstance(type_, DATA):
            raise InvalidParameterAnnotationError(
                scope.source.span(each.annotation), each.arg, type_
            )
        scope.variables[each.arg] = Variable(type_, each)
        parameters.append(syntax.Parameter(each.arg, type_))
    return tuple(parameters)


def read_return(scope: Scope, definition: Definition) -> DataType | None:
    """Return the annotated type of the result, None without an annotation."""
    annotation = scope.source.function.returns
    if annotation is None:
        return None
    given = dict(definition.annotations).get("return", annotation)
    if given is None and definition.kind == "program":
        return None
    type_ = _type(scope, annotation, given)
    if not isinstance(type_, DATA):
        raise InvalidAnnotationError(scope.source.span(annotation), ast.unparse(annotation))
    return type_


def annotation_type(scope: Scope, node: ast.expr) -> DataType:
    """Return the type of the annotation of a local variable."""
    type_ = _type(scope, node, node)
    if not isinstance(type_, DATA):
        raise InvalidAnnotationError(scope.source.span(node), ast.unparse(node))
    return type_


def _type(scope: Scope, node: ast.expr, value: Any) -> Any:
    """Turn an annotation into a type; evaluate it if it is still text."""
    try:
        return type_from_annotation(ast.unparse(node) if value is node else value, scope.closure)
    except Exception as error:  # an annotation may be any object
        note = error.message if isinstance(error, FieldforgeError) else str(error)
        raise InvalidAnnotationError(
            scope.source.span(node), ast.unparse(node), notes=[note]
        ) from None


def _refuse_other_kinds(scope: Scope, arguments: ast.arguments) -> None:
    hint = "Write plain parameters, each with its annotation: 'def f(a: T, b: S)'."
    others: list[tuple[ast.arg | None, str]] = [
        (next(iter(arguments.posonlyargs), None), "Positional-only parameters are"),
        (arguments.vararg, "Parameters that collect arguments ('*args') are"),
        (next(iter(arguments.kwonlyargs), None), "Keyword-only parameters are"),
        (arguments.kwarg, "Parameters that collect arguments ('**kwargs') are"),
    ]
    for found, what in others:
        if found is not None:
            raise scope.error(found, f"{what} not supported.", hints=[hint])
    if arguments.defaults:
        at: Located = arguments.defaults[0]
        raise scope.error(
            at,
            "Default values of parameters are not supported.",
            hints=["Pass the value in the call."],
        )
