"""Calls: operators, shifts of fields, type constructors, collections, builtins."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ...runtime.language import (
    CollectionType,
    DataType,
    Definition,
    FieldType,
    ScalarType,
    TupleType,
)
from ...runtime.language.generics import call_names, instance_for_types
from ...runtime.process import DSLTypeError
from ..ir import syntax
from . import scans
from .builtin_typing import call_builtin
from .free_names import number_type
from .meanings import (
    Axis,
    Builtin,
    CollectionName,
    Meaning,
    Number,
    OperatorName,
    Pack,
    Row,
    ScalarName,
    Text,
    describe,
)
from .promotion import RowType
from .scope import Scope
from .shifts import apply, index_of
from .source import Located
from .unsupported import unsupported


def call(scope: Scope, node: ast.Call) -> Meaning:
    """Read a call of an operator, builtin, type, field or dimension."""
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise unsupported(scope.source.span(argument), argument)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise scope.error(keyword, "Keyword arguments are written one by one, without '**'.")
    called = scope.meanings[node.func]
    match called:
        case Builtin():
            return call_builtin(scope, node, called)
        case OperatorName():
            return _operator(scope, node, called)
        case ScalarName():
            return _constructor(scope, node, called)
        case CollectionName():
            return _collection(scope, node, called.type)
        case Row(type=FieldType()):
            return apply(scope, node, called)
        case Axis():
            return index_of(scope, node, called)
    raise scope.type_error(
        node.func, f"Expected something that can be called, got {describe(called)}."
    )


def callee(
    scope: Scope, node: ast.Call, called: OperatorName, ignored: tuple[str, ...] = ()
) -> tuple[str, syntax.Callee]:
    """Return the key and the tree of an operator that is called."""
    definition, at = called.definition, node.func
    if definition.kind == "scan_operator" and scope.scan:
        raise scope.error(
            at,
            f"Scan operator '{definition.name}' can not be called in another scan.",
            hints=["Call both in a field operator, one after the other."],
        )
    if definition.kind == "program":
        raise scope.error(
            at,
            f"Program '{definition.name}' can not be called in another definition.",
            hints=["Call its operators."],
        )
    if definition.variables:
        definition = _instance(scope, node, definition, ignored)
    found = scope.operators.get(id(definition))
    if found is None:
        raise scope.error(at, f"Operator '{called.path}' calls itself; there is no recursion.")
    scope.called[found[0]] = None
    return found


def _instance(
    scope: Scope, node: ast.Call, definition: Definition, ignored: tuple[str, ...]
) -> Definition:
    """Return the instance of a generic operator for the types of the arguments of a call."""
    given, _ = _given(node, call_names(definition), ignored)
    types = {name: _type_of(scope, scope.meanings[at]) for name, at in given.items()}
    known = {name: type_ for name, type_ in types.items() if type_ is not None}
    try:
        return instance_for_types(definition, known)
    except DSLTypeError as error:
        raise scope.type_error(node, error.message, hints=error.hints) from None


def _type_of(scope: Scope, meaning: Meaning) -> DataType | None:
    """Return the type that an argument has as a value, None for what is none."""
    match meaning:
        case Row(type=ScalarType() | FieldType() | TupleType() | CollectionType() as found):
            return found
        case Number(value=value):
            return number_type(value)
        case Pack(elements=elements):
            types = [_type_of(scope, each) for each in elements]
            return TupleType(tuple(each for each in types if each is not None))
    return None


def operands(
    scope: Scope, node: ast.Call, name: str, root: syntax.Callee, ignored: tuple[str, ...] = ()
) -> tuple[tuple[int, ...], DataType]:
    """Return the rows of the arguments of a call, and the type of its result."""
    parameters = [(each.name, each.type) for each in root.parameters]
    if isinstance(root, syntax.Operator):
        return arguments(scope, node, name, parameters, ignored), root.result
    references = arguments(scope, node, name, parameters[1:], ignored, scans.fits)
    given = [scope.nodes[reference].type for reference in references]
    return references, scans.result_type(scope, node, root, given)


def arguments(
    scope: Scope,
    node: ast.Call,
    name: str,
    parameters: Sequence[tuple[str, DataType]],
    ignored: tuple[str, ...] = (),
    fits: Callable[[RowType, DataType], bool] = operator.eq,
) -> tuple[int, ...]:
    """Bind arguments to parameters and return their rows in the order of the parameters."""
    given, problems = _given(node, [parameter for parameter, _ in parameters], ignored)
    rows = {each: scope.value(at) for each, at in given.items()}
    references = []
    for parameter, type_ in parameters:
        if parameter not in given:
            continue
        row = _as_parameter(scope, rows[parameter], type_, given[parameter])
        if not fits(row.type, type_):
            text = f"Expected argument '{parameter}' to be of type '{type_}', got '{row.type}'."
            problems.append((given[parameter], text))
        references.append(row.ref)
    if problems:
        at = problems[0][0] if len(problems) == 1 else node
        raise scope.type_error(
            at,
            f"Invalid call to '{name}'.",
            notes=[text for _, text in problems],
            hints=_results(node),
        )
    return tuple(references)


def _results(node: ast.Call) -> list[str]:
    """Return what to write instead of the keywords of a call in Python or in a program."""
    if not any(keyword.arg in ("out", "domain") for keyword in node.keywords):
        return []
    called = ast.unparse(ast.Call(node.func, node.args, []))
    return [f"An operator takes the result of a call: 'x = {called}'; the domain follows."]


def _given(
    node: ast.Call, names: Sequence[str], ignored: tuple[str, ...]
) -> tuple[dict[str, ast.expr], list[tuple[Located, str]]]:
    """Bind the expressions of a call to names; return also what is wrong, and where."""
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    problems: list[tuple[Located, str]] = []
    if len(node.args) > len(names):
        count = (
            f"Function takes {len(names)} positional arguments, but {len(node.args)} were given."
        )
        problems.append((node, count))
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in ignored:
            continue
        if keyword.arg not in names:
            problems.append((keyword, f"Got an unexpected keyword argument '{keyword.arg}'."))
        elif keyword.arg in given:
            problems.append((keyword, f"Got multiple values for argument '{keyword.arg}'."))
        else:
            given[keyword.arg] = keyword.value
    missing = [f"'{each}'" for each in names if each not in given]
    if missing:
        problems.append((node, f"Missing {len(missing)} required arguments: {', '.join(missing)}."))
    return given, problems


def _as_parameter(scope: Scope, row: Row, type_: DataType, node: ast.expr) -> Row:
    """Convert a scalar to a 0-d field if the parameter is one, the only implicit conversion."""
    if isinstance(type_, FieldType) and not type_.dims and row.type == type_.dtype:
        return scope.add(syntax.Broadcast(arg=row.ref, type=type_), node)
    return row


def _operator(scope: Scope, node: ast.Call, called: OperatorName) -> Row:
    key, root = callee(scope, node, called)
    references, result = operands(scope, node, called.path, root)
    return scope.add(syntax.CallOf(callee=key, args=references, type=result), node)


def _converted(scope: Scope, node: ast.Call, called: ScalarName) -> str:
    """Return how to write a constructor that is given no literal."""
    names = [each for given in node.args for each in ast.walk(given) if isinstance(each, ast.Name)]
    if names and all(isinstance(scope.meanings[each], Number) for each in names):
        return (
            f"Compute the number before the operator, as in 'c = {ast.unparse(node.args[0])}', and "
            f"write '{ast.unparse(node.func)}(c)'; to convert a value write "
            f"'astype(x, {called.name})'."
        )
    return f"To convert a value write 'astype(x, {called.name})'."


def _collection(scope: Scope, node: ast.Call, type_: CollectionType) -> Row:
    parameters: list[tuple[str, DataType]] = []
    for name, element in zip(type_.keys, type_.elements, strict=True):
        parameters.append((name, element))  # type: ignore[arg-type]  # the elements of data are data
    references = arguments(scope, node, type_.name, parameters)
    rows = (Row(reference, scope.nodes[reference].type) for reference in references)
    return scope.make_tuple(rows, node, type_)


def _constructor(scope: Scope, node: ast.Call, called: ScalarName) -> Number:
    """Read `float32(0.1)` and convert the literal now."""
    given = scope.meanings[node.args[0]] if len(node.args) == 1 and not node.keywords else None
    if not isinstance(given, Number | Text):
        raise scope.type_error(
            node.args[0] if given is not None else node,
            f"'{called.name}()' only takes literal arguments.",
            hints=[_converted(scope, node, called)],
        )
    value = given.value
    try:
        with np.errstate(all="ignore"):
            for step in called.constructor:
                value = step(value)
    except (ValueError, OverflowError, TypeError):
        raise scope.type_error(
            node.args[0], f"'{called.name}()' can not represent {given.value!r}."
        ) from None
    return Number(value, written=True)
