"""Parse scan operators: check their options, and type a call with fields."""

from __future__ import annotations

import ast
from typing import Any

from ...runtime.language import (
    CollectionType,
    DataType,
    Definition,
    Dimension,
    DimensionKind,
    FieldType,
    ScalarType,
    TupleType,
    leaves,
    leaves_of,
    type_of_value,
    with_annotated_types,
)
from ...runtime.process import DSLTypeError, FieldforgeError, classes
from ..ir import syntax
from .free_names import number_text, number_value
from .promotion import RowType, common_dims
from .scope import Scope
from .source import Located


class ScanAxisError(DSLTypeError, TypeError):
    """Scans of one program that walk along different axes."""


def read_options(
    scope: Scope, definition: Definition, parameters: tuple[syntax.Parameter, ...]
) -> tuple[Dimension, bool, tuple[str, ...]]:
    """Return axis, direction and first state of a scan, checked against its parameters."""
    options, name = definition.scan, definition.name
    at = scope.source.name
    if not parameters:
        raise DSLTypeError(
            at, f"Scan operator '{name}' must have at least one argument (the carry)."
        )
    axis = options.axis if options else None
    if not isinstance(axis, Dimension) or axis.kind is not DimensionKind.VERTICAL:
        raise DSLTypeError(
            at,
            f"Argument 'axis' to scan operator '{name}' must be a vertical dimension.",
            notes=[f"Got '{axis}'."],
            hints=["Write 'axis=K' with 'K = Dimension(\"K\", DimensionKind.VERTICAL)'."],
        )
    assert options is not None  # checked above
    if not isinstance(options.forward, bool):
        raise DSLTypeError(
            at, f"Argument 'forward' to scan operator '{name}' must be a boolean.",
            notes=[f"Got '{options.forward}'."],
        )  # fmt: skip
    arguments = scope.source.function.args.args
    for parameter, node in zip(parameters, arguments, strict=True):
        _expect_scalars(scope, name, parameter, node)
    return axis, options.forward, _first_state(scope, name, parameters[0], options.init)


def _expect_scalars(scope: Scope, name: str, parameter: syntax.Parameter, node: ast.arg) -> None:
    if any(not isinstance(leaf, ScalarType) for _, leaf in leaves(parameter.type)):
        raise scope.type_error(
            node.annotation or node,
            f"Argument '{parameter.name}' to scan operator '{name}' must be a scalar or a tuple "
            f"of scalars, got '{parameter.type}'.",
            hints=["The body works on one point; pass fields where you call the scan."],
        )


def _first_state(scope: Scope, name: str, state: syntax.Parameter, init: Any) -> tuple[str, ...]:
    init = with_annotated_types(init)
    try:
        found: Any = type_of_value(init)
    except FieldforgeError:
        found = type(init).__name__
    if found != state.type:
        raise DSLTypeError(
            scope.source.name,
            f"Argument 'init' to scan operator '{name}' must have same type as '{state.name}' "
            f"argument: expected '{state.type}', got '{found}'.",
            hints=["Numbers are never converted silently; write '0.0', or 'float32(0.0)'."],
        )
    return tuple(number_text(number_value(leaf)) for _, leaf in leaves_of(init))


def check_body(scope: Scope, name: str, state: syntax.Parameter) -> None:
    """Refuse fields and regions in the body, and a result whose type is not that of the state."""
    for expression, span in zip(scope.nodes, scope.spans, strict=True):
        type_ = expression.type
        is_data = isinstance(type_, ScalarType | TupleType | CollectionType)
        if not is_data or any(not isinstance(leaf, ScalarType) for _, leaf in leaves(type_)):  # type: ignore[arg-type]  # seen before
            raise DSLTypeError(
                span,
                f"The body of scan operator '{name}' works on scalars, got '{type_}'.",
                hints=["Move the work on fields into a field operator that calls the scan."],
            )
    if scope.result != state.type:
        first = scope.source.function.args.args[0]
        raise scope.type_error(
            first,
            f"Argument '{state.name}' to scan operator '{name}' must have same type as its "
            f"return: expected '{scope.result}', got '{state.type}'.",
        )


def fits(given: RowType, parameter: DataType) -> bool:
    """Tell whether fields, scalars, or tuples and collections of them match scalars."""
    stack: list[tuple[Any, Any]] = [(given, parameter)]
    while stack:
        found, expected = stack.pop()
        if isinstance(expected, ScalarType):
            if found != expected and getattr(found, "dtype", None) != expected:
                return False
            continue
        if type(found) is not type(expected) or len(found.elements) != len(expected.elements):
            return False
        if isinstance(found, CollectionType) and found.keys != expected.keys:
            return False  # the classes may differ: one holds fields, the other their scalars
        stack += zip(found.elements, expected.elements, strict=True)
    return True


def result_type(scope: Scope, node: Located, scan: syntax.Scan, given: list[RowType]) -> DataType:
    """Return the type of a call: the state over the dimensions of all arguments and the axis."""
    found = [
        leaf.dims
        for type_ in given
        for _, leaf in leaves(type_)  # type: ignore[arg-type]  # arguments are data, `fits` saw it
        if isinstance(leaf, FieldType)
    ]
    dims = common_dims((scan.axis,), *found)
    if dims is None or any(dim.kind is DimensionKind.LOCAL for dim in dims):
        shown = ", ".join(f"[{', '.join(dim.value for dim in each)}]" for each in found)
        raise scope.type_error(
            node,
            f"No column along '{scan.axis.value}' can have the dimensions of all arguments of "
            f"scan operator '{scan.name}', which are {shown}.",
            hints=["Reduce neighbours before the scan."],
        )
    return over(scan.result, dims)


def over(type_: DataType, dims: tuple[Dimension, ...]) -> DataType:
    """Replace the scalars of a type by fields on `dims`; it may recurse, nesting is bounded."""
    if isinstance(type_, ScalarType):
        return FieldType(dims, type_)
    assert isinstance(type_, TupleType | CollectionType)  # a state has no fields
    elements = tuple(over(each, dims) for each in type_.elements)  # type: ignore[arg-type]  # data too
    return classes.evolve(type_, elements=elements)
