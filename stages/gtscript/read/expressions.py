"""Read expressions: names, offsets, operators, conditions, and calls of functions."""

from __future__ import annotations

import ast
from typing import Final

from ...ir.stencil import Operation, Ref, Variable
from ...parse.source import Located
from .. import GTScriptDefinitionError, GTScriptSymbolError, definition as given, path_of
from ..words import AXES, CASTS, FUNCTIONS
from . import composed
from .accesses import read_at_level, read_at_offsets
from .data_axes import access_of, no_index, part_of, product_of
from .scope import Elements, Scope, shown
from .typing import (
    ARITHMETIC,
    COMPARISONS,
    cast,
    choice,
    condition,
    logic,
    operation,
)

PYTHON_TYPES: Final = {"int": "literal_int", "float": "literal_float"}


def read(scope: Scope, node: ast.expr) -> Ref:
    """Return the row of an expression."""
    match node:
        case ast.Constant():
            return _literal(scope, node)
        case ast.Name() | ast.Attribute():
            return _name(scope, node)
        case ast.Subscript():
            return _subscript(scope, node)
        case ast.UnaryOp():
            return _unary(scope, node)
        case ast.BinOp():
            return _binary(scope, node)
        case ast.Compare():
            return _compare(scope, node)
        case ast.BoolOp():
            rows = [read(scope, each) for each in node.values]
            op = "and" if isinstance(node.op, ast.And) else "or"
            last = rows[-1]
            for row in reversed(rows[:-1]):
                last = logic(scope, op, (row, last), node)
            return last
        case ast.IfExp():
            test = condition(scope, read(scope, node.test), node.test)
            return choice(scope, test, read(scope, node.body), read(scope, node.orelse), node)
        case ast.Call():
            return _call(scope, node)
    raise scope.syntax_error(node, f"Unsupported syntax in an expression: '{shown(node)}'.")


def constant(scope: Scope, value: given.Number, node: Located) -> Ref:
    """Add a number; those of Python have the types of literals."""
    label = PYTHON_TYPES.get(value.dtype)
    dtype = value.dtype if label is None else getattr(scope.tables.definition, label)
    try:
        return scope.number(dtype, value.text, node)
    except ValueError:
        text = f"{value.text} is not a number of type '{dtype}'."
        raise scope.refuse(node, text) from None


def _literal(scope: Scope, node: ast.Constant) -> Ref:
    match node.value:
        case bool() as value:
            return constant(scope, given.Number("bool", str(value)), node)
        case int() as value:
            return constant(scope, given.Number("int", str(value)), node)
        case float() as value:
            return constant(scope, given.Number("float", repr(value)), node)
    raise scope.syntax_error(
        node, f"Unknown constant value found: {shown(node)}. Expected boolean or number."
    )


def _name(scope: Scope, node: ast.Name | ast.Attribute) -> Ref:
    path = path_of(node)
    if isinstance(node, ast.Attribute):
        base = scope.meaning(path_of(node.value) or "?")
        if isinstance(base, Elements) and node.attr == "T":
            return scope.read(part_of(scope, node, base, transposed=True), node)
    if not path:
        raise scope.syntax_error(node, f"Unsupported syntax in an expression: '{shown(node)}'.")
    match scope.meaning(path):
        case int() as variable if scope.tables.variables[variable].kind == "table":
            raise no_index(scope, node, scope.tables.variables[variable])
        case int() as variable:
            return scope.read(variable, node)
        case Elements() as elements:
            return scope.read(part_of(scope, node, elements), node)
        case given.Number() as number:
            return constant(scope, number, node)
        case None if path in AXES:
            return _axis(scope, path, node)
        case None:
            raise scope.unknown(node, path)
        case given.Opaque(what=what):
            message = f"Missing or invalid value for external symbol '{path}': it is {what}."
            raise GTScriptDefinitionError(scope.place(node), path, None, message)
        case _:
            raise scope.syntax_error(
                node, f"'{path}' cannot be used in an expression: it is no number."
            )


def _axis(scope: Scope, axis: str, node: Located) -> Ref:
    if axis == "K":
        return level(scope, node)
    raise scope.syntax_error(node, f"Parallel axis {axis} can't be queried - only K.")


def level(scope: Scope, node: Located) -> Ref:
    """Read the number of the level."""
    tables = scope.tables
    if tables.level is None:
        dtype = tables.definition.literal_int
        tables.level = tables.declare(Variable("K", "level", dtype, "K"))
    return scope.read(tables.level, node)


def _subscript(scope: Scope, node: ast.Subscript) -> Ref:
    access = access_of(node)
    row = read_at_offsets(scope, node, access, read)
    if row is not None:
        return row
    path = path_of(access.base)
    found = scope.meaning(path) if path else None
    if isinstance(found, given.Number) and access.index is None:
        return constant(scope, found, node)
    if path and found is None:
        raise scope.unknown(access.base, path)
    raise scope.syntax_error(node, f"Unrecognized subscript expression '{shown(node)}'.")


def _unary(scope: Scope, node: ast.UnaryOp) -> Ref:
    operand = read(scope, node.operand)
    match node.op:
        case ast.Not():
            return logic(scope, "not", (operand,), node)
        case ast.UAdd():
            return operand
        case ast.USub():
            return operation(scope, "neg", (operand,), node)
    raise scope.syntax_error(node, f"Unsupported operator in '{shown(node)}'.")


def _binary(scope: Scope, node: ast.BinOp) -> Ref:
    if isinstance(node.op, ast.MatMult):
        return product_of(scope, node, read)
    op = ARITHMETIC.get(type(node.op))
    if op is None:
        raise scope.syntax_error(
            node, f"Unsupported operator in '{shown(node)}'.", "GTScript has + - * / % and **."
        )
    return operation(scope, op, (read(scope, node.left), read(scope, node.right)), node)


def _compare(scope: Scope, node: ast.Compare) -> Ref:
    if len(node.ops) > 1:
        raise scope.syntax_error(
            node, f"Chained comparison is not supported: '{shown(node)}'.", "Join two with 'and'."
        )
    op = COMPARISONS.get(type(node.ops[0]))
    if op is None:
        raise scope.syntax_error(node, f"Unsupported comparison: '{shown(node)}'.")
    return operation(scope, op, (read(scope, node.left), read(scope, node.comparators[0])), node)


def _call(scope: Scope, node: ast.Call) -> Ref:
    if isinstance(node.func, ast.Attribute) and node.func.attr == "at":
        return read_at_level(scope, node, node.func.value, read)
    name = path_of(node.func)
    found = scope.meaning(name) if name else None
    if isinstance(found, given.FunctionDefinition):
        (result,) = scope.inline(scope, node, found, 1)
        return result
    if name in CASTS or name in FUNCTIONS:
        return _builtin(scope, node, name)
    if found is None and name in scope.callers:  # it was not bound when it was decorated
        raise scope.syntax_error(node, f"Found recursive function call '{name}' in the stack.")
    if found is None and name:
        message, hint = f"Unknown call of '{name}'.", "Decorate it with '@function'."
        raise GTScriptSymbolError(scope.place(node), name, message, hints=(hint,))
    raise scope.syntax_error(node, f"Unknown call: '{shown(node)}'.")


def _builtin(scope: Scope, node: ast.Call, name: str) -> Ref:
    count = 2 if name in ("min", "max", "mod") else 1
    if len(node.args) != count or node.keywords:
        plural = "s" * (count > 1)
        raise scope.syntax_error(
            node, f"Invalid native function call: '{name}' takes {count} argument{plural}."
        )
    args = [read(scope, arg) for arg in node.args]
    if name in CASTS:
        label = {"int": "named_int", "float": "named_float"}.get(name)
        dtype = name if label is None else getattr(scope.tables.definition, label)
        return cast(scope, args[0], dtype, node)
    if name in composed.FUNCTIONS:
        return composed.FUNCTIONS[name](scope, args[0], node)
    return operation(scope, FUNCTIONS[name], args, node)


def mask_of(scope: Scope, mask: Ref | None, test: Ref, node: Located) -> Ref:
    """Return the mask of a branch inside another branch."""
    return test if mask is None else logic(scope, "and", (mask, test), node)


def opposite(scope: Scope, test: Ref, node: Located) -> Ref:
    """Return the mask of the other branch."""
    return scope.add(Operation(dtype="bool", op="not", args=(test,)), node)
