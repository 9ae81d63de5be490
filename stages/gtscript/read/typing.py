"""The types of operations: operands convert to the larger type of bool < integers < floats."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from ....runtime.language.operations import BY_NAME
from ...ir.stencil import Operation, Read, Ref
from ...parse.source import Located
from .scope import Scope, shown

ORDER: Final = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")
FLOATS: Final = ("float32", "float64")
WIDEST: Final = "float64"

ARITHMETIC: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Mod: "mod", ast.Pow: "pow",
}  # fmt: skip
COMPARISONS: Final[dict[type[ast.AST], str]] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
WHOLE: Final = frozenset({"floor", "ceil", "trunc", "round", "round_away_from_zero"})


def larger(dtypes: Sequence[str]) -> str:
    """Return the type to which operands convert.

    >>> larger(("int64", "float32"))
    'float32'
    """
    return max(dtypes, key=ORDER.index)


def cast(scope: Scope, ref: Ref, dtype: str, node: Located) -> Ref:
    """Convert a value; return the value itself if it has the type."""
    if scope.dtype(ref) == dtype:
        return ref
    return scope.add(Operation(dtype=dtype, op="cast", args=(ref,)), node)


def operation(scope: Scope, op: str, args: Sequence[Ref], node: Located) -> Ref:
    """Add an operation on operands of any types."""
    dtypes = [scope.dtype(arg) for arg in args]
    row = BY_NAME[op]
    dtype = larger(dtypes)
    if row.gives != "bool" and dtype == "bool":
        raise scope.refuse(
            node,
            f"Boolean expression is not allowed with arithmetic operation: '{shown(node)}'.",
            "Convert one side with 'int64(...)', or write a condition.",
        )
    if op in WHOLE and dtype not in FLOATS:
        return args[0]
    if (op == "div" or "int64" not in row.takes) and dtype not in FLOATS:
        dtype = WIDEST
    made = tuple(cast(scope, arg, dtype, node) for arg in args)
    return scope.add(
        Operation(dtype="bool" if row.gives == "bool" else dtype, op=op, args=made), node
    )


def logic(scope: Scope, op: str, args: Sequence[Ref], node: Located) -> Ref:
    """Add an operation on conditions."""
    for arg in args:
        if scope.dtype(arg) != "bool":
            raise scope.refuse(
                node,
                f"Arithmetic expression is not allowed in boolean operation: '{shown(node)}' has "
                f"an operand of type '{scope.dtype(arg)}'.",
                "Compare it: write 'x != 0' in place of 'x'.",
            )
    return scope.add(Operation(dtype="bool", op=op, args=tuple(args)), node)


def condition(scope: Scope, ref: Ref, node: Located) -> Ref:
    """Return a condition; refuse one that is a number."""
    if scope.dtype(ref) != "bool":
        raise scope.refuse(
            node,
            f"Condition must be boolean, got '{scope.dtype(ref)}': '{shown(node)}'.",
            "Compare it: write 'x != 0' in place of 'x'.",
        )
    return ref


def choice(scope: Scope, test: Ref, then: Ref, otherwise: Ref, node: Located) -> Ref:
    """Add `then if test else otherwise`."""
    dtype = larger((scope.dtype(then), scope.dtype(otherwise)))
    sides = (cast(scope, each, dtype, node) for each in (then, otherwise))
    return scope.add(Operation(dtype=dtype, op="select", args=(test, *sides)), node)


def reads_field(scope: Scope, root: Ref) -> bool:
    """Tell whether a value depends on a field or temporary, and not only on scalars."""
    nodes = scope.tables.nodes
    stack, seen = [root], {root}
    while stack:
        node = nodes[stack.pop()]
        if isinstance(node, Read) and scope.tables.variables[node.variable].kind != "scalar":
            return True
        fresh = [each for each in node.operands if each not in seen]
        seen.update(fresh)
        stack += fresh
    return False
