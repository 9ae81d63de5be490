"""Parse regions: comparisons `K < n`, and combinations `(0 < K) & (K < n)`."""

from __future__ import annotations

import ast
from typing import Final

from ...runtime.language import DomainType, ScalarType
from ..ir import syntax
from .meanings import Axis, Meaning, Number, Row, describe
from .promotion import common_dims
from .scope import Scope

INDEX: Final = ScalarType("int32")
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def inside(scope: Scope, node: ast.Compare, op: str) -> Meaning:
    """Read `K < n` or `n <= K`; of two dimensions read `==` and `!=` only."""
    left, right = node.left, node.comparators[0]
    axis, other = scope.meanings[left], scope.meanings[right]
    if isinstance(axis, Axis) and isinstance(other, Axis):
        if op in ("eq", "ne"):
            return Number((axis.dim is other.dim) is (op == "eq"))
        raise scope.type_error(node, "Dimensions have no order.")
    if not isinstance(axis, Axis):
        axis, op, right = other, _MIRRORED[op], left
    assert isinstance(axis, Axis)  # the caller found one
    bound = scope.value(right)
    if bound.type != INDEX:
        raise scope.type_error(
            right,
            f"Expected the bound of a region to be an 'int32' scalar, got '{bound.type}'.",
            hints=["Regions compare an index, which is of type 'int32'."],
        )
    return scope.add(
        syntax.Inside(dim=axis.dim, op=op, bound=bound.ref, type=DomainType((axis.dim,))), node
    )


def is_region(row: Row) -> bool:
    """Tell whether a row is a region."""
    return isinstance(row.type, DomainType)


def both(scope: Scope, node: ast.BinOp, op: str, symbol: str, rows: list[Row]) -> Row:
    """Read `a & b` or `a | b` of two regions."""
    for row, at in zip(rows, (node.left, node.right), strict=True):
        if not isinstance(row.type, DomainType):
            raise scope.type_error(
                at, f"Operator '{symbol}' expects two regions, got '{row.type}'."
            )
    if op == "xor":
        raise scope.type_error(node, "Regions are combined with '&' and '|', not with '^'.")
    left, right = rows
    dims = common_dims(*(row.type.dims for row in rows))  # type: ignore[union-attr]  # seen above
    if dims is None:
        raise scope.type_error(
            node, f"No region can have the dimensions of '{left.type}' and '{right.type}'."
        )
    return scope.add(
        syntax.Regions(op=op, left=left.ref, right=right.ref, type=DomainType(dims)), node
    )


def expect_region(scope: Scope, node: ast.expr) -> Row:
    """Return the row of the condition of `concat_where`."""
    meaning = scope.meanings[node]
    row = meaning if isinstance(meaning, Row) else None
    if row is not None and is_region(row):
        return row
    raise scope.type_error(
        node,
        "Expected 0-th argument of 'concat_where' to be a region such as 'K < n', got "
        f"{describe(meaning)}.",
        hints=["To choose by the values of a field write 'where(mask, a, b)'."],
    )
