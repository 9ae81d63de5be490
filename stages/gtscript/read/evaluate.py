"""Evaluate expressions that are known when a stencil is built: bounds, offsets, `__INLINED`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

from ...parse.source import Located
from .. import AxisBound, Number, path_of
from .scope import Scope

UNKNOWN: Final = object()

BINARY: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
UNARY: Final[dict[type[ast.AST], Callable[[Any], Any]]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}  # fmt: skip
LARGEST_POWER: Final = 1024


def evaluated(scope: Scope, node: ast.expr) -> Any:
    """Return the value of an expression: a number, None, an `AxisBound`, or UNKNOWN."""
    match node:
        case ast.Constant(value=bool() | int() | float() | None as value):
            return value
        case ast.Name() | ast.Attribute():
            return _named(scope, path_of(node))
        case ast.UnaryOp():
            value = evaluated(scope, node.operand)
            return _computed(UNARY.get(type(node.op)), value)
        case ast.BinOp():
            return _binary(type(node.op), evaluated(scope, node.left), evaluated(scope, node.right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _computed(BINARY.get(type(op)), evaluated(scope, left), evaluated(scope, right))
        case ast.BoolOp():
            values = [evaluated(scope, each) for each in node.values]
            if any(value is UNKNOWN for value in values):
                return UNKNOWN
            return all(values) if isinstance(node.op, ast.And) else any(values)
    return UNKNOWN


def whole(scope: Scope, node: ast.expr) -> int | None:
    """Return the value of an integer expression that is known, else None."""
    value = evaluated(scope, node)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def decided(scope: Scope, call: ast.Call, node: Located) -> bool:
    """Return the value of the condition in `__INLINED(...)` or `compile_assert(...)`."""
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    if len(call.args) != 1 or call.keywords:
        raise scope.syntax_error(node, f"Invalid call. Correct syntax: {name}(condition).")
    value = evaluated(scope, call.args[0])
    if value is UNKNOWN:
        raise scope.syntax_error(
            node,
            f"Evaluation of compile-time condition of '{name}' failed: it depends on arguments.",
            "Use numbers and externals only.",
        )
    return bool(value)


def _named(scope: Scope, path: str) -> Any:
    match scope.meaning(path):
        case Number(dtype=dtype, text=text):
            if dtype == "bool":
                return text == "True"
            return int(text) if dtype.startswith("int") else float(text)
        case AxisBound() as bound:
            return bound
    return UNKNOWN


def _binary(op: type[ast.AST], left: Any, right: Any) -> Any:
    if isinstance(left, AxisBound) and isinstance(right, int):
        if op in (ast.Add, ast.Sub):
            moved = BINARY[op](left.offset, right)
            return AxisBound(left.axis, left.index, moved)
        return UNKNOWN
    if op is ast.Pow and isinstance(right, int) and abs(right) > LARGEST_POWER:
        return UNKNOWN
    return _computed(BINARY.get(op), left, right)


def _computed(function: Callable[..., Any] | None, *args: Any) -> Any:
    if function is None or any(not isinstance(arg, bool | int | float) for arg in args):
        return UNKNOWN
    try:
        return function(*args)
    except (ArithmeticError, ValueError):
        return UNKNOWN
