"""Operators of Python on values: `+`, `<`, `&`, `-x`; and `I + 1`, which is an offset."""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from ...runtime.language import ScalarType
from ..ir import syntax
from .free_names import number_text
from .meanings import Axis, Meaning, Number, Row
from .promotion import (
    BOOL,
    Numeric,
    dtype_of,
    is_arithmetic,
    is_floating,
    is_integral,
    is_logical,
    numeric,
    over_all_dims,
    promote,
    with_dtype,
)
from .regions import both, inside, is_region
from .scope import Scope
from .shifts import displacement
from .unsupported import unsupported

ARITHMETIC: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Add: ("+", "add"),
    ast.Sub: ("-", "sub"),
    ast.Mult: ("*", "mul"),
    ast.Div: ("/", "div"),
    ast.FloorDiv: ("//", "floordiv"),
    ast.Mod: ("%", "mod"),
    ast.Pow: ("**", "pow"),
}
MAX_SHOWN: Final = 4
MAX_HINTED: Final = 2**31  # a larger number may not fit into the type that the hint names
LOGIC: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.BitAnd: ("&", "and"),
    ast.BitOr: ("|", "or"),
    ast.BitXor: ("^", "xor"),
}
COMPARISONS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Eq: ("==", "eq"),
    ast.NotEq: ("!=", "ne"),
    ast.Lt: ("<", "lt"),
    ast.LtE: ("<=", "le"),
    ast.Gt: (">", "gt"),
    ast.GtE: (">=", "ge"),
}


def binary(scope: Scope, node: ast.BinOp) -> Meaning:
    """Read `left op right`."""
    left = scope.meanings[node.left]
    if isinstance(left, Axis) and isinstance(node.op, ast.Add | ast.Sub):
        return displacement(scope, node, left)
    kind = type(node.op)
    if kind in LOGIC:
        symbol, op = LOGIC[kind]
        rows = [scope.value(node.left), scope.value(node.right)]
        if any(map(is_region, rows)):
            return both(scope, node, op, symbol, rows)
        for row, at in zip(rows, (node.left, node.right), strict=True):
            if not is_logical(row.type):
                raise scope.type_error(
                    at, f"Operator '{symbol}' expects truth values, got '{row.type}'."
                )
        return combine(scope, node, op, symbol, rows)
    if kind not in ARITHMETIC:
        raise unsupported(scope.source.span(node), node.op)
    symbol, op = ARITHMETIC[kind]
    if op == "pow":
        return _power(scope, node)
    rows = [
        expect_number(scope, node.left, scope.value(node.left), symbol),
        expect_number(scope, node.right, scope.value(node.right), symbol),
    ]
    if op == "mod" and not is_integral(rows[1].type):
        raise scope.type_error(
            node.right,
            f"Operator '%' expects integers on the right, got '{rows[1].type}'.",
            hints=["For floating point numbers use 'fmod', which has the sign of the dividend."],
        )
    return combine(scope, node, op, symbol, rows)


def unary(scope: Scope, node: ast.UnaryOp) -> Meaning:
    """Read `-x`, `+x`, `~x` and `not x`."""
    meaning = scope.meanings[node.operand]
    if isinstance(node.op, ast.USub | ast.UAdd):
        symbol = "-" if isinstance(node.op, ast.USub) else "+"
        folded = _signed(meaning, symbol)
        if folded is not None:
            return folded
        row = expect_number(scope, node.operand, scope.value(node.operand), symbol)
        if symbol == "+":
            return row
        return scope.add(syntax.Operation(op="neg", args=(row.ref,), type=row.type), node)
    row = scope.value(node.operand)
    symbol = "~" if isinstance(node.op, ast.Invert) else "not"
    if not is_logical(row.type):
        raise scope.type_error(
            node.operand, f"Operator '{symbol}' expects a truth value, got '{row.type}'."
        )
    if symbol == "not" and not isinstance(row.type, ScalarType):
        raise scope.type_error(
            node.operand,
            f"Operator 'not' expects a scalar, got '{row.type}'.",
            hints=["On fields write '~'."],
        )
    return scope.add(syntax.Operation(op="not", args=(row.ref,), type=row.type), node)


def compare(scope: Scope, node: ast.Compare) -> Meaning:
    """Read one comparison; refuse a chain of them."""
    operands = [node.left, *node.comparators]
    for op in node.ops:
        if type(op) not in COMPARISONS:
            raise unsupported(scope.source.span(node), op)
    if len(node.ops) > 1:
        raise _chain(scope, node)
    symbol, op_name = COMPARISONS[type(node.ops[0])]
    if any(isinstance(scope.meanings[each], Axis) for each in operands):
        return inside(scope, node, op_name)
    rows = [expect_number(scope, each, scope.value(each), symbol) for each in operands]
    return combine(scope, node, op_name, symbol, rows, result=BOOL)


def expect_number(scope: Scope, node: ast.expr, row: Row, symbol: str) -> Row:
    """Return the row if its type is a number."""
    if is_arithmetic(row.type):
        return row
    hints = ["For truth values use '&', '|', '^' and '~'."] if is_logical(row.type) else []
    raise scope.type_error(
        node, f"Operator '{symbol}' expects numbers, got '{row.type}'.", hints=hints
    )


def combine(
    scope: Scope,
    node: ast.expr,
    op: str,
    symbol: str,
    rows: list[Row],
    *,
    result: ScalarType | None = None,
) -> Row:
    """Append an operation on operands of equal dtypes."""
    type_ = common_type(scope, node, symbol, [numeric(row.type) for row in rows])
    if result is not None:
        type_ = with_dtype(type_, result)
    return scope.add(syntax.Operation(op=op, args=tuple(row.ref for row in rows), type=type_), node)


def common_type(scope: Scope, node: ast.expr, symbol: str, types: list[Numeric]) -> Numeric:
    """Return the common type of the operands, or raise an error that says why there is none."""
    found = promote(types)
    if found is not None:
        return found
    first = types[0]
    second = next((each for each in types[1:] if promote([first, each]) is None), types[-1])
    dtypes = dtype_of(first).name, dtype_of(second).name
    if dtypes[0] != dtypes[1]:
        notes = [f"Numbers are never converted silently: '{dtypes[0]}' is not '{dtypes[1]}'."]
        hints = [_conversion_hint(scope, node, *dtypes)]
    else:
        notes = ["No field can have the dimensions of both."]
        hints = []
    raise scope.type_error(
        node,
        f"Could not promote '{first}' and '{second}' to common type in call to '{symbol}'.",
        notes=notes,
        hints=hints,
    )


def _conversion_hint(scope: Scope, node: ast.expr, left: str, right: str) -> str:
    for side in _operands(node):
        meaning = scope.meanings[side]
        if isinstance(meaning, Number) and meaning.written and abs(meaning.value) < MAX_HINTED:
            own = scope.number_type(meaning.value, side).name
            return written_as(scope, meaning, right if own == left else left)
    return f"Convert one of them, as in 'astype(x, {left})'."


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.right, node.left]
        case ast.Compare():
            return [*node.comparators, node.left]
        case ast.Call():
            return node.args
    return []


def written_as(scope: Scope, number: Number, wanted: str) -> str:
    """Return how to write a number so that it has another type."""
    text = number_text(number.value)
    if wanted in scope.variables_of:
        return f"Write '{scope.variables_of[wanted]}({text})'."
    is_plain = type(number.value) is int and wanted == "float64"
    return f"Write '{text}.0'." if is_plain else f"Write '{wanted}({text})'."


def _power(scope: Scope, node: ast.BinOp) -> Row:
    """Read `left ** right`: cast both operands to one dtype, and the result to that of the base."""
    base = expect_number(scope, node.left, scope.value(node.left), "**")
    exponent = scope.meanings[node.right]
    dtype = dtype_of(numeric(base.type))
    if isinstance(exponent, Number) and isinstance(exponent.value, int) and is_floating(dtype):
        with np.errstate(all="ignore"):
            if not isinstance(exponent.value, bool):
                scope.number_type(exponent.value, node.right)
                exponent = Number(np.dtype(dtype.name).type(exponent.value))
    power = expect_number(scope, node.right, scope.row(exponent, node.right), "**")
    work = dtype
    if is_integral(base.type) and is_floating(power.type):
        work = dtype_of(numeric(power.type))
    rows = [_cast(scope, row, work, node) for row in (base, power)]
    whole = over_all_dims([numeric(row.type) for row in rows], work)
    if whole is None:
        raise scope.type_error(
            node,
            f"Could not promote '{base.type}' and '{power.type}' to common type in call to '**'.",
        )
    args = tuple(row.ref for row in rows)
    return _cast(
        scope, scope.add(syntax.Operation(op="pow", args=args, type=whole), node), dtype, node
    )


def _cast(scope: Scope, row: Row, dtype: ScalarType, node: ast.expr) -> Row:
    type_ = numeric(row.type)
    if dtype_of(type_) == dtype:
        return row
    return scope.add(syntax.Cast(arg=row.ref, type=with_dtype(type_, dtype)), node)


def _signed(meaning: Meaning, symbol: str) -> Number | None:
    """Fold the sign of a literal; leave NumPy integers that may wrap to the backends."""
    if not isinstance(meaning, Number) or isinstance(meaning.value, bool | np.bool_):
        return None
    if isinstance(meaning.value, np.integer):
        small = (
            isinstance(meaning.value, np.signedinteger)
            and meaning.value != np.iinfo(meaning.value).min
        )
        if not small:
            return None
    return Number(-meaning.value if symbol == "-" else meaning.value, meaning.written)


def _chain(scope: Scope, node: ast.Compare) -> Exception:
    operands = [node.left, *node.comparators][: MAX_SHOWN + 1]
    parts = [
        f"({_text(scope, left)} {COMPARISONS[type(op)][0]} {_text(scope, right)})"
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
    ]
    return scope.error(
        node,
        "Comparison chains are not supported.",
        hints=[f"Write '{' & '.join(parts)}' instead."],
    )


def _text(scope: Scope, node: ast.expr) -> str:
    """Return the source text of an expression, or dots if it is long."""
    found = ast.get_source_segment(scope.source.text.text, node)
    return found if found is not None and len(found) <= 40 and "\n" not in found else "..."
