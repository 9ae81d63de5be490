"""Read offsets: `a[1, 0, -1]` in the field's own axes, or named `a[I + 1, K - 1]`."""

from __future__ import annotations

import ast
from typing import Final

from ...ir.stencil import Offset, Variable
from ..definition import AxisBound
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
