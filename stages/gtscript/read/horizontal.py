"""Read the regions of `horizontal(region[...])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from ...ir.stencil import End, Limits
from ..capture import path_of
from ..definition import AxisBound
from .offsets import bound_at
from .scope import Scope, shown

BEYOND: Final = 10000  # an offset that means "unbounded"


def boxes_of(scope: Scope, call: ast.Call) -> Iterator[Limits]:
    """Yield the limits of each region."""
    if not call.args or call.keywords:
        raise scope.syntax_error(call, "Invalid 'with' statement: 'horizontal' needs regions.")
    for each in call.args:
        if not isinstance(each, ast.Subscript) or path_of(each.value) != "region":
            raise scope.syntax_error(
                each, f"Expected a region, got '{shown(each)}'.", "Write 'region[I[0], :]'."
            )
        sides = each.slice.elts if isinstance(each.slice, ast.Tuple) else []
        if len(sides) != 2:
            raise scope.syntax_error(each, "A region has an index or a slice for I and one for J.")
        i, j = (_limits(scope, side, axis) for side, axis in zip(sides, "IJ", strict=True))
        yield Limits(i, j)


def _limits(scope: Scope, node: ast.expr, axis: str) -> tuple[End | None, End | None]:
    start: End | None
    stop: End | None
    if not isinstance(node, ast.Slice):
        start = _end(scope, node, axis)
        stop = End(start.of_end, start.offset + 1)
    elif node.step is not None:
        raise scope.syntax_error(node, "Invalid horizontal range specification: it has a step.")
    else:
        start = None if node.lower is None else _end(scope, node.lower, axis)
        stop = None if node.upper is None else _end(scope, node.upper, axis)
    start = None if start is not None and start.offset <= -BEYOND else start
    stop = None if stop is not None and stop.offset >= BEYOND else stop
    if start is not None and stop is not None and _is_reversed(start, stop):
        raise scope.refuse(
            node, f"The end of the region ({stop}) is not after or equal to its start ({start})."
        )
    return start, stop


def _is_reversed(start: End, stop: End) -> bool:
    if start.of_end != stop.of_end:
        return start.of_end
    return start.offset > stop.offset


def _end(scope: Scope, node: ast.expr, axis: str) -> End:
    match bound_at(scope, node):
        case AxisBound() as bound if bound.axis == axis:
            return End(bound.index < 0, bound.index + bound.offset)
        case int() as index:
            return End(index < 0, index)
    raise scope.syntax_error(
        node,
        f"Invalid horizontal range specification: Expected specification {axis}[0] or {axis}[-1], "
        f"got '{shown(node)}'.",
    )
