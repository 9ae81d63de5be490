"""Parse the statements of an operator without recursion: assignments, unpacking, `if`, `return`."""

from __future__ import annotations

import ast
from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

from ...runtime.language import (
    CollectionType,
    DataType,
    DimensionKind,
    DomainType,
    FieldType,
    TupleType,
)
from ..ir import syntax
from .expressions import expect_condition, read, understand
from .meanings import Row
from .promotion import RowType
from .scope import Scope, Variable
from .signature import annotation_type
from .source import Located
from .unsupported import unsupported

Body: TypeAlias = tuple[syntax.Statement, ...]
Block: TypeAlias = Generator[Any, Any, tuple[Body, bool]]


def read_body(scope: Scope, statements: list[ast.stmt]) -> Body:
    """Read the body of an operator; every path through it must return a value."""
    for each in statements:
        if isinstance(each, ast.Pass):
            raise unsupported(scope.source.span(each), each)
    body, returns = _run(_block(scope, _without_docstring(statements)))
    if not returns or scope.result is None:
        raise scope.type_error(
            statements[-1],
            "'Function' is expected to return a value.",
            hints=["Every path through the function ends with 'return'."],
        )
    return body


def _run(block: Block) -> tuple[Body, bool]:
    """Run the generator of a block, and of the blocks that it yields, on an explicit stack."""
    stack = [block]
    answer: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(answer))
            answer = None
        except StopIteration as done:
            stack.pop()
            answer = done.value
    body, returns = answer
    return body, returns


def _block(scope: Scope, statements: Iterable[ast.stmt]) -> Block:
    """Read statements; check and drop those after a return on every path."""
    body: list[syntax.Statement] = []
    returned = False
    for statement in statements:
        returns = False
        match statement:
            case ast.Assign():
                made = _assign(scope, statement)
            case ast.AnnAssign():
                made = _annotated(scope, statement)
            case ast.Return():
                made, returns = [_return(scope, statement)], True
            case ast.If():
                branch, returns = yield _if(scope, statement)
                made = list(branch)
            case ast.Pass():
                made = []
            case _:
                raise unsupported(scope.source.span(statement), statement)
        if not returned:
            body += made
        returned = returned or returns
    return tuple(body), returned


def _without_docstring(statements: list[ast.stmt]) -> list[ast.stmt]:
    first = statements[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if is_text and isinstance(first.value.value, str):  # type: ignore[attr-defined]
        return statements[1:]
    return statements


def _assign(scope: Scope, node: ast.Assign) -> list[syntax.Statement]:
    for target in node.targets:
        _check_target(scope, target)
    row = read(scope, node.value)
    return [_bind(scope, target, row, node.value) for target in node.targets]


def _check_target(scope: Scope, target: ast.expr) -> None:
    if isinstance(target, ast.Name):
        return
    if isinstance(target, ast.Subscript | ast.Attribute):
        raise unsupported(scope.source.span(target), target)
    names = [
        each.value if isinstance(each, ast.Starred) else each
        for each in getattr(target, "elts", ())
    ]
    for each in names:
        if not isinstance(each, ast.Name):
            raise scope.error(each, "A tuple can only be unpacked to plain names.")


def _bind(scope: Scope, target: ast.expr, row: Row, value: ast.expr) -> syntax.Statement:
    if isinstance(target, ast.Name):
        scope.variables[target.id] = Variable(row.type, target)
        return syntax.Assign(target.id, row.ref)
    return _unpack(scope, target, row, value)


def _unpack(scope: Scope, target: ast.expr, row: Row, value: ast.expr) -> syntax.Statement:
    targets: list[ast.expr] = target.elts  # type: ignore[attr-defined]  # `_check_target` saw it
    if not isinstance(row.type, TupleType | CollectionType):
        raise scope.type_error(value, f"Assignment value must be of type tuple, got '{row.type}'.")
    elements: tuple[Any, ...] = row.type.elements
    starred = next((i for i, each in enumerate(targets) if isinstance(each, ast.Starred)), -1)
    wanted = len(targets) - (starred >= 0)
    if len(elements) > wanted and starred < 0:
        raise scope.type_error(target, f"Too many values to unpack (expected {wanted}).")
    if len(elements) < wanted:
        least = "at least " if starred >= 0 else ""
        raise scope.type_error(
            target, f"Not enough values to unpack (expected {least}{wanted}, got {len(elements)})."
        )
    types: list[DataType] = list(elements)
    if starred >= 0:
        rest = len(elements) - wanted
        types[starred : starred + rest] = [TupleType(elements[starred : starred + rest])]
    names = []
    for each, type_ in zip(targets, types, strict=True):
        name = each.value if isinstance(each, ast.Starred) else each
        assert isinstance(name, ast.Name)  # `_check_target` saw it
        scope.variables[name.id] = Variable(type_, name)
        names.append(name.id)
    return syntax.Unpack(tuple(names), starred, row.ref)


def _annotated(scope: Scope, node: ast.AnnAssign) -> list[syntax.Statement]:
    if not isinstance(node.target, ast.Name):
        raise unsupported(scope.source.span(node.target), node.target)
    if node.value is None:
        raise scope.error(
            node,
            "Variable declaration without assignment.",
            hints=[f"Give '{node.target.id}' a value where it is declared."],
        )
    expected = annotation_type(scope, node.annotation)
    row = read(scope, node.value)
    if row.type != expected:
        raise scope.type_error(
            node.value,
            f"Annotated type does not match the type of the value: annotation is '{expected}', "
            f"got '{row.type}'.",
        )
    return [_bind(scope, node.target, row, node.value)]


def _return(scope: Scope, node: ast.Return) -> syntax.Statement:
    if node.value is None:
        raise scope.type_error(node, "'Function' is expected to return a value.")
    row = read(scope, node.value)
    if isinstance(row.type, DomainType):
        raise scope.type_error(
            node.value,
            "A region can not be returned.",
            hints=["Pass its bounds on, and compare the dimension where the region is used."],
        )
    if scope.annotated is not None and row.type != scope.annotated:
        raise scope.type_error(
            node.value,
            "Annotated return type does not match deduced return type: annotation is "
            f"'{scope.annotated}', got '{row.type}'.",
            hints=_over_neighbours(scope.annotated, row.type),
        )
    if scope.result is not None and row.type != scope.result:
        raise scope.type_error(
            node.value,
            f"Expected every 'return' to give a value of type '{scope.result}', got '{row.type}'.",
        )
    scope.result = row.type
    return syntax.Return(row.ref)


def _if(scope: Scope, node: ast.If) -> Block:
    understand(scope, node.test)
    condition = expect_condition(scope, node.test, "if")
    before = scope.variables
    scope.variables = dict(before)
    then, then_returns = yield _block(scope, node.body)
    after_then, scope.variables = scope.variables, dict(before)
    otherwise, otherwise_returns = yield _block(scope, node.orelse)
    if otherwise_returns:
        scope.variables = after_then
    elif not then_returns:
        scope.variables = _merged(scope, after_then, scope.variables)
    made = syntax.If(condition.ref, then, otherwise)
    return (made,), then_returns and otherwise_returns


def _merged(
    scope: Scope, then: dict[str, Variable], otherwise: dict[str, Variable]
) -> dict[str, Variable]:
    merged: dict[str, Variable] = {}
    for name, variable in then.items():
        other = otherwise.get(name)
        if other is None:
            continue
        if other is variable:
            merged[name] = variable
            continue
        if isinstance(variable.type, DomainType) or other.type != variable.type:
            at: Located = max(variable.node, other.node, key=lambda node: node.lineno)
            raise scope.type_error(
                at,
                f"Inconsistent types between two branches for variable '{name}'.",
                notes=[
                    f"One branch gives '{variable.type}', the other '{other.type}'."
                    if other.type != variable.type
                    else "Regions can not be chosen by 'if'."
                ],
            )
        merged[name] = variable
    return merged


def _over_neighbours(wanted: DataType, got: RowType) -> list[str]:
    """Return what to write where a result still has all neighbours of its points."""
    if not isinstance(wanted, FieldType) or not isinstance(got, FieldType):
        return []
    return [
        f"It has all neighbours along '{dim.value}': reduce them, as in 'neighbor_sum(f, axis=L)', "
        "or choose one, as in 'f[L(0)]'."
        for dim in got.dims
        if dim.kind is DimensionKind.LOCAL and dim not in wanted.dims
    ]
