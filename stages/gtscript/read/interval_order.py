"""Check that nested intervals stand in order of execution and do not overlap.

What only scalars of a call decide is noted for its checks. What fields decide may differ from
column to column, and is not checked: blocks run in the order of the text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeAlias

from ...ir.stencil import End, Read, Ref
from .. import GTError, InOrder, Level
from .scope import Scope, shown

FAR = 100000  # more than any interval is long
Bound: TypeAlias = Ref | End  # a row that a call decides, or a level
Interval: TypeAlias = tuple[Bound, Bound]


def check_order(scope: Scope, node: ast.With, numbers: Sequence[int]) -> None:
    """Check the intervals of blocks with these numbers, which stand in one computation."""
    tables = scope.tables
    is_backward = any(tables.blocks[number].order == "backward" for number in numbers)
    texts = [
        "interval" + shown(each.items[0].context_expr).rpartition("interval")[2]
        for each in node.body
        if isinstance(each, ast.With)
    ]
    pairs = []
    for (n, first), (m, second) in combinations(zip(numbers, texts, strict=True), 2):
        one, other = tables.intervals[n], tables.intervals[m]
        pairs.append((*((other, one) if is_backward else (one, other)), (first, second)))
    for lower, upper, said in pairs:
        if _begins_first(upper, lower):
            rule = "Intervals must be specified in order of execution"
            raise _refused(scope, node, rule, said)
    for lower, upper, said in pairs:
        if _surely_overlap(lower, upper):
            raise _refused(scope, node, "Overlapping intervals detected", said)
        bounds = tuple(_levels(scope, (*lower, *upper)))
        if len(bounds) == 4 and not _at_least(upper[0], lower[1]):
            line = scope.place(node.items[0].context_expr).line
            tables.in_order.append(InOrder(bounds, said, line))


def _begins_first(one: Interval, other: Interval) -> bool:
    """Tell whether an interval with levels surely begins before another one, or ends before it."""
    (start, stop), (first, _) = one, other
    return (start != first and _at_least(first, start)) or _at_least(first, stop)


def _surely_overlap(lower: Interval, upper: Interval) -> bool:
    """Tell whether intervals with levels surely have one in common."""
    (start, stop), (first, last) = lower, upper
    is_above = stop != first and _at_least(stop, first)
    return is_above or _at_least(start, first) or _at_least(stop, last)


def _at_least(one: Bound, other: Bound) -> bool:
    """Tell whether a bound is surely another one or above it, for levels of the domain."""
    if End(False, 0) == other or End(True, 0) == one:
        return True
    if isinstance(one, End) and isinstance(other, End):
        return _key(one) >= _key(other)
    return one == other


def _key(end: End) -> int:
    return end.offset + FAR * end.of_end


def _levels(scope: Scope, bounds: Sequence[Bound]) -> Iterator[Level]:
    """Yield the bounds that levels of the domain and scalars give."""
    tables = scope.tables
    for each in bounds:
        if isinstance(each, End):
            yield Level("", each.of_end, each.offset)
            continue
        read = tables.nodes[each]
        if isinstance(read, Read) and tables.variables[read.variable].kind == "scalar":
            yield Level(tables.variables[read.variable].name)


def _refused(scope: Scope, node: ast.With, rule: str, texts: tuple[str, str]) -> GTError:
    place = node.items[0].context_expr
    at = scope.place(place)
    return scope.syntax_error(
        place,
        f"Invalid 'with' statement at line {at.line} (column {at.column}): {rule}: got "
        f"'{texts[0]}' before '{texts[1]}' in '{shown(place)}'.",
        "Write one in a computation of its own: computations run in the order of the text.",
    )
