"""Read expressions: names, offsets, operators, conditions, and calls of functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Final

from ...ir.stencil import Offset, Operation, Read, Ref, Variable
from ...parse.source import Located
from .. import definition as given
from ..capture import path_of
from ..words import CASTS, FUNCTIONS
from . import composed
from .data_axes import Access, access_of, element_of, index_of, no_index, part_of, product_of
from .elements import Elements
from .offsets import level_of, offset_of
from .scope import Scope, shown
from .typing import (
    ARITHMETIC,
    COMPARISONS,
    FLOATS,
    cast,
    choice,
    condition,
    logic,
    operation,
)

PYTHON_TYPES: Final = {"int": "literal_int", "float": "literal_float"}
AXES: Final = ("I", "J", "K")


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
        case found:
            what = found.what if isinstance(found, given.Opaque) else "no number"
            raise scope.syntax_error(
                node, f"'{path}' cannot be used in an expression: it is {what}."
            )


def _axis(scope: Scope, axis: str, node: Located) -> Ref:
    if axis == "K":
        tables = scope.tables
        if tables.level is None:
            dtype = tables.definition.literal_int
            tables.level = tables.declare(Variable("K", "level", dtype, "K"))
        return scope.read(tables.level, node)
    raise scope.syntax_error(node, f"Parallel axis {axis} can't be queried - only K.")


def _subscript(scope: Scope, node: ast.Subscript) -> Ref:
    access = access_of(node)
    path = path_of(access.base)
    found = scope.meaning(path) if path else None
    if isinstance(found, int) and scope.tables.variables[found].kind == "table":
        return _of_table(scope, node, access, found)
    if isinstance(found, Elements):
        offset, level = _place(scope, access.offsets, found.whole)
        return _element(scope, node, access, found, lambda v: scope.read(v, node, offset, level))
    if isinstance(found, int) and access.index is None:
        variable = scope.tables.variables[found]
        if variable.kind == "scalar":  # an argument of a function that shifts its parameter
            return scope.read(found, node)
        return scope.read(found, node, *_place(scope, node, variable))
    if isinstance(found, given.Number) and access.index is None:
        return constant(scope, found, node)
    if path and found is None:
        raise scope.unknown(access.base, path)
    raise scope.syntax_error(node, f"Unrecognized subscript expression '{shown(node)}'.")


def _place(
    scope: Scope, offsets: ast.Subscript | None, variable: Variable
) -> tuple[Offset, Ref | None]:
    """Return the offsets of a subscript; that along K may be a row."""
    if offsets is None:
        return (0, 0, 0), None
    offset, level = offset_of(scope, offsets, variable), level_of(scope, offsets, variable)
    if level is None:
        return offset, None
    if offset != (0, 0, 0):
        raise scope.refuse(
            offsets,
            f"'{variable.name}' is read in another column, at a level that a value gives.",
            "gt4py drops the offsets along I and J of such a read. Assign the field to a "
            "temporary at that level, and read the temporary at the offset.",
        )
    return offset, _integer(scope, level, "Variable vertical index")


def _integer(scope: Scope, node: ast.expr, what: str) -> Ref:
    row = read(scope, node)
    if scope.dtype(row) in (*FLOATS, "bool"):
        raise scope.refuse(node, f"{what} must be an integer expression.")
    return row


def _element(
    scope: Scope,
    node: ast.expr,
    access: Access,
    elements: Elements,
    at: Callable[[int], Ref],
) -> Ref:
    """Read the element that an index names, or that a whole vector is read for."""
    if access.index is None:
        return at(part_of(scope, node, elements))
    index = index_of(scope, access, elements.whole.name, elements.sizes, read)
    return element_of(scope, node, elements, index, at)


def _of_table(scope: Scope, node: ast.Subscript, access: Access, number: int) -> Ref:
    table = scope.tables.variables[number]
    if access.offsets is not None:
        raise scope.syntax_error(
            node,
            f"Incorrect offset specification detected for {table.name}, which has dimensions (). "
            f"Did you mean absolute indexing via .A[{shown(access.offsets.slice)}]?",
        )
    _, places = index_of(scope, access, table.name, table.sizes, read)
    return scope.add(Read(dtype=table.dtype, variable=number, places=tuple(places)), node)


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
        return _at(scope, node, node.func.value)
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
        raise scope.syntax_error(
            node, f"Unknown call of '{name}'.", "Decorate it with '@function'."
        )
    raise scope.syntax_error(node, f"Unknown call: '{shown(node)}'.")


def _at(scope: Scope, node: ast.Call, base: ast.expr) -> Ref:
    """Read `field.at(K=level, ddim=[index, ...])`."""
    names = [each.arg for each in node.keywords]
    if node.args or names not in (["K"], ["K", "ddim"]):
        raise scope.syntax_error(
            node,
            "Absolute K index: Bad syntax. Must be of the form `.at(K=..., ddim=[...])` where the "
            "`ddim` argument is optional.",
        )
    wanted, *rest = (each.value for each in node.keywords)
    if isinstance(wanted, ast.Name) and wanted.id in AXES and scope.meaning(wanted.id) is None:
        raise scope.syntax_error(
            node,
            f"Absolute K index: bad syntax, you cannot write `.at(K={wanted.id})` since `.at` "
            "denotes an absolute index, this is equivalent to `field[0, 0, 0]` or simply `field`.",
        )
    path = path_of(base)
    found = scope.meaning(path) if path else None
    if path and found is None:
        raise scope.unknown(base, path)
    if not isinstance(found, int | Elements):
        raise scope.syntax_error(node, f"Unknown call: '{shown(node)}'.")
    whole = found.whole if isinstance(found, Elements) else scope.tables.variables[found]
    if "K" not in whole.axes:
        raise scope.refuse(
            node, "Tried accessing a field with no K-dimensions with an absolute K-index."
        )
    level = _integer(scope, wanted, "Absolute vertical index")

    def at(variable: int) -> Ref:
        return scope.read(variable, node, (0, 0, 0), level, is_absolute=True)

    if isinstance(found, int):
        if rest:
            raise scope.syntax_error(node, f"Field {whole.name} has no data dimensions.")
        return at(found)
    index = None
    if rest:
        index = tuple(rest[0].elts) if isinstance(rest[0], ast.List | ast.Tuple) else (rest[0],)
    return _element(scope, node, Access(base, None, index), found, at)


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
