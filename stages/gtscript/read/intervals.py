"""Read the intervals of computations: `interval(1, -1)`, `interval(...)`, one level."""

from __future__ import annotations

import ast

from ...ir.stencil import End, Ref
from .. import AxisBound, GTError, path_of, reads_below
from . import expressions
from .data_axes import access_of
from .evaluate import UNKNOWN, evaluated
from .scope import Elements, Scope, shown
from .typing import FLOATS


def interval_of(scope: Scope, call: ast.Call) -> tuple[End, End]:
    """Return the bounds of an interval that is known when a stencil is built."""
    args = _bounds(call)
    if len(args) not in (1, 2):
        raise _invalid(scope, call)
    if len(args) == 1:
        start, stop = _single(scope, call, args[0])
    else:
        start, stop = _bound(scope, call, args[0]), _stop(scope, call, args[1])
    if start.of_end and not stop.of_end:
        raise _invalid(scope, call)
    if start.of_end == stop.of_end and stop.offset <= start.offset:
        raise _invalid(scope, call)
    return start, stop


def runtime_bounds(scope: Scope, call: ast.Call) -> tuple[Ref | End, Ref | End] | None:
    """Return the bounds of an interval if only a call knows one of them; None if it is known.

    Such a bound is a scalar, an IJ field or an element of one; it counts from the domain's start.
    """
    args = _bounds(call)
    if len(args) != 2 or not any(_is_runtime(scope, each) for each in args):
        return None
    start, stop = args
    first: Ref | End = (
        _level(scope, start) if _is_runtime(scope, start) else _bound(scope, call, start)
    )
    last: Ref | End = _level(scope, stop) if _is_runtime(scope, stop) else _stop(scope, call, stop)
    return first, last


def _is_runtime(scope: Scope, node: ast.expr) -> bool:
    return any(
        isinstance(scope.meaning(path_of(each) or "?"), int | Elements) for each in ast.walk(node)
    )


def _level(scope: Scope, node: ast.expr) -> Ref:
    """Read a bound that only the call knows."""
    base = access_of(node).base if isinstance(node, ast.Subscript) else node
    found = scope.meaning(path_of(base) or "?")
    if not isinstance(found, int | Elements):
        raise scope.syntax_error(
            node,
            f"The bound of an interval is a number, a scalar or an IJ field, got '{shown(node)}'.",
            "Assign the expression to a field with the axes I and J, and give that field.",
        )
    known = found.whole if isinstance(found, Elements) else scope.tables.variables[found]
    if "K" in known.axes:
        raise scope.refuse(
            node,
            f"Using field '{known.name}' with a K-Axis as a bound for an interval is invalid.",
        )
    row = expressions.read(scope, node)
    reads = reads_below(scope.tables.nodes, (row,))
    if scope.dtype(row) in (*FLOATS, "bool") or any(any(each.offset) for each in reads):
        raise scope.refuse(node, "The bound of an interval is an integer of the same column.")
    return row


def _bounds(call: ast.Call) -> list[ast.expr]:
    """Return the arguments, also by the names `start` and `end`; none if they do not fit."""
    names = {each.arg: each.value for each in call.keywords}
    if not names:
        return list(call.args)
    if len(call.args) == 1 and list(names) == ["end"]:
        return [*call.args, names["end"]]
    return [names["start"], names["end"]] if set(names) == {"start", "end"} else []


def _single(scope: Scope, call: ast.Call, node: ast.expr) -> tuple[End, End]:
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return End(False, 0), End(True, 0)
    value = _value(scope, call, node)
    match value:
        case AxisBound(axis="K"):
            first = _end(value)
            return first, End(first.of_end, first.offset + 1)
        case int():
            following = value + 1
            return End(value < 0, value), End(following < 0, following)
    raise _invalid(scope, call)


def _bound(scope: Scope, call: ast.Call, node: ast.expr) -> End:
    value = _value(scope, call, node)
    match value:
        case AxisBound(axis="K"):
            return _end(value)
        case int():
            return End(value < 0, value)
    raise _invalid(scope, call)


def _stop(scope: Scope, call: ast.Call, node: ast.expr) -> End:
    return End(True, 0) if _value(scope, call, node) is None else _bound(scope, call, node)


def _end(bound: AxisBound) -> End:
    return End(bound.index < 0, bound.index + bound.offset)


def _value(scope: Scope, call: ast.Call, node: ast.expr) -> AxisBound | int | None:
    """Return a bound; numbers are cut to integers."""
    value = evaluated(scope, node)
    if value is UNKNOWN:
        raise _invalid(scope, call)
    return value if value is None or isinstance(value, AxisBound) else int(value)


def _invalid(scope: Scope, call: ast.Call) -> GTError:
    place = scope.place(call)
    return scope.syntax_error(
        call,
        f"Invalid interval range specification at line {place.line} (column {place.column}).",
        "Write 'interval(...)', or a first level and one past the last: 'interval(1, None)'.",
    )
