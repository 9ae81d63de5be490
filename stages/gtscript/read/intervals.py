"""Read the intervals of computations: `interval(1, -1)`, `interval(...)`, one level."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

from ...ir.stencil import Block, End, Order
from ..capture import path_of
from ..definition import AxisBound
from ..errors import GTError
from .evaluate import UNKNOWN, evaluated
from .scope import Scope

FAR = 100000  # more than any interval is long


def interval_of(scope: Scope, call: ast.Call) -> tuple[End, End]:
    """Return the bounds of an interval."""
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


def check_order(scope: Scope, node: ast.With, blocks: Sequence[Block]) -> None:
    """Check that nested intervals stand in order of execution and do not overlap."""
    line = scope.place(node.items[0].context_expr)
    text = f"Invalid 'with' statement at line {line.line} (column {line.column})"
    place = node.items[0].context_expr
    order: Order = blocks[0].order if blocks else "parallel"
    starts = [_key(each.start) for each in blocks]
    if starts != sorted(starts, reverse=order == "backward"):
        raise scope.syntax_error(
            place, f"{text}: Intervals must be specified in order of execution."
        )
    for one, other in pairwise(blocks):
        low, high = sorted((one, other), key=lambda each: _key(each.start))
        if _key(low.stop) > _key(high.start):
            raise scope.syntax_error(place, f"{text}: Overlapping intervals detected.")


def _bounds(call: ast.Call) -> list[ast.expr]:
    """Return the arguments, also by the names `start` and `end`; none if they do not fit."""
    names = {each.arg: each.value for each in call.keywords}
    if not names:
        return list(call.args)
    if len(call.args) == 1 and list(names) == ["end"]:
        return [*call.args, names["end"]]
    return [names["start"], names["end"]] if set(names) == {"start", "end"} else []


def _key(end: End) -> int:
    return end.offset + FAR * end.of_end


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
    for each in ast.walk(node):
        found = scope.meaning(path_of(each) or "?")
        if isinstance(found, int):
            raise _runtime(scope, node, found)
    value = evaluated(scope, node)
    if value is UNKNOWN:
        raise _invalid(scope, call)
    return value if value is None or isinstance(value, AxisBound) else int(value)


def _runtime(scope: Scope, node: ast.expr, variable: int) -> GTError:
    known = scope.tables.variables[variable]
    if "K" in known.axes:
        return scope.refuse(
            node,
            f"Using field '{known.name}' with a K-Axis as a bound for an interval is invalid.",
        )
    return scope.not_yet(node, "Intervals with bounds that are known at the call only are")


def _invalid(scope: Scope, call: ast.Call) -> GTError:
    place = scope.place(call)
    return scope.syntax_error(
        call,
        f"Invalid interval range specification at line {place.line} (column {place.column}).",
        "Write 'interval(...)', or a first level and one past the last: 'interval(1, None)'.",
    )
