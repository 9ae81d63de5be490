"""Read offsets, `a[1, 0, -1]` or `a[I + 1, K - 1]`, and regions, `horizontal(region[...])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from ...ir.stencil import End, Limits, Offset, Variable
from .. import AxisBound, path_of
from .evaluate import evaluated, whole
from .scope import Scope, shown

AXES: Final = "IJK"


def offset_of(scope: Scope, node: ast.Subscript, variable: Variable) -> Offset:
    """Return the offset along I, J and K that a subscript gives; 0 for an expression along K."""
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for each in given:
        if isinstance(each, ast.Slice):
            raise scope.syntax_error(node, f"A field cannot be sliced: '{shown(node)}'.")
        if isinstance(each, ast.Constant) and each.value is Ellipsis:
            raise scope.syntax_error(
                node, "Field access with ellipsis has been replaced with the plain field name.",
                f"Write '{variable.name}' in place of '{shown(node)}'.",
            )  # fmt: skip
    if any(_names_axis(scope, each) for each in given):
        return _named(scope, given, variable)
    if len(given) != len(variable.axes):
        found = ", ".join(shown(each) for each in given)
        raise scope.syntax_error(
            node,
            f"Incorrect offset specification detected for {variable.name}. Found index=[{found}], "
            f"but {variable.name} field has dimensions ({', '.join(variable.axes)}).",
        )
    offsets = {
        axis: _distance(scope, each, axis) for axis, each in zip(variable.axes, given, strict=True)
    }
    return offsets.get("I", 0), offsets.get("J", 0), offsets.get("K", 0)


def _distance(scope: Scope, node: ast.expr, axis: str) -> int:
    found = whole(scope, node)
    if found is not None:
        return found
    if axis == "K":  # `level_of` returns it
        return 0
    raise scope.syntax_error(node, f"Offsets along {axis} must be integers, got '{shown(node)}'.")


def level_of(scope: Scope, node: ast.Subscript, variable: Variable) -> ast.expr | None:
    """Return the offset along K if it is an expression that only a call knows."""
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if "K" not in variable.axes or any(_names_axis(scope, each) for each in given):
        return None
    last = given[-1]  # axes are in order
    return last if whole(scope, last) is None else None


def _names_axis(scope: Scope, node: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Name) and each.id in AXES and scope.meaning(each.id) is None
        for each in ast.walk(node)
    )


def _named(scope: Scope, given: list[ast.expr], variable: Variable) -> Offset:
    offsets: dict[str, int] = {}
    for each in given:
        found = _shifted(scope, each)
        if found is None:
            raise scope.syntax_error(
                each, f"Could not evaluate axis shift expression '{shown(each)}'."
            )
        axis, offset = found
        if axis not in variable.axes:
            raise scope.syntax_error(
                each, f"Field '{variable.name}' has no axis {axis}, only {variable.axes}."
            )
        if axis in offsets:
            raise scope.syntax_error(each, f"Duplicate axis found: {axis}.")
        if any(AXES.index(axis) < AXES.index(before) for before in offsets):
            raise scope.syntax_error(each, f"Axis {axis} is specified out of order.")
        offsets[axis] = offset
    return offsets.get("I", 0), offsets.get("J", 0), offsets.get("K", 0)


def _shifted(scope: Scope, node: ast.expr) -> tuple[str, int] | None:
    """Return axis and distance of `I`, `I + 1` or `1 + I`."""
    match node:
        case ast.Name(id=axis) if axis in AXES and scope.meaning(axis) is None:
            return axis, 0
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            found, distance = _shifted(scope, left), whole(scope, right)
            if found is None and isinstance(op, ast.Add):
                found, distance = _shifted(scope, right), whole(scope, left)
            if found is None or distance is None:
                return None
            return found[0], found[1] + (distance if isinstance(op, ast.Add) else -distance)
    return None


def bound_at(scope: Scope, node: ast.expr) -> AxisBound | int | None:
    """Return a known bound: an integer, `I[0] + 1`, or None for anything else."""
    match node:
        case ast.Subscript(value=ast.Name(id=axis)) if axis in AXES:
            index = whole(scope, node.slice)
            return None if index not in (0, -1) else AxisBound(axis, index, 0)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            base, distance = bound_at(scope, left), whole(scope, right)
            if isinstance(base, AxisBound) and distance is not None:
                moved = base.offset + (distance if isinstance(op, ast.Add) else -distance)
                return AxisBound(base.axis, base.index, moved)
    found = evaluated(scope, node)
    is_bound = isinstance(found, AxisBound | int) and not isinstance(found, bool)
    return found if is_bound else None


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
