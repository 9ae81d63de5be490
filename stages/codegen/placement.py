"""Decide which values become arrays, and which are computed where they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from ...runtime.dimension import Dimension
from ..ir import dataflow
from ..ir.bounds import Range, Ranges, add, hull
from ..target import Target
from .costs import ITEMSIZES, point_costs
from .order import level_of, loops_over, order_dims
from .points import Node, Offsets, Point, Points

Uses: TypeAlias = dict[int, dict[Offsets, None]]  # the offsets by nest

# Beyond so many points of one value a loop body outgrows registers and the compiler's patience.
MOST_POINTS = 48
# A value over fewer dimensions than its loops is worth an array from this many operations on.
INVARIANT_COST = 8


@attrs.frozen
class Rules:
    """The numbers and overrides that decide; `arrays` and `inline` name values, as in '%12'."""

    target: Target
    arrays: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    units: tuple[tuple[str, Dimension], ...] = ()


@attrs.frozen
class Placement:
    """The nodes that become arrays, ascending, each with its box and reason; notes on the rest."""

    arrays: tuple[tuple[int, Ranges, str], ...]
    notes: tuple[str, ...]


def place(points: Points, roots: Sequence[Point], box: Ranges, rules: Rules) -> Placement:
    """Walk the nodes from the stores to the inputs and decide for each one.

    `uses[node]` are the offsets at which each nest (0 is that of the stores) needs the
    node; a node that becomes an array opens a nest of its own, in which its operands
    are needed once. So the points of one node stay few, however long the chain is.
    """
    needed = points.reachable(index for index, _ in roots)
    costs = point_costs(points.nodes, needed)
    uses: dict[int, Uses] = {index: {} for index in needed}
    boxes = [box]
    arrays: list[tuple[int, Ranges, str]] = []
    notes: list[str] = []
    for index, offsets in roots:
        uses[index].setdefault(0, {})[offsets] = None
    asked = dict.fromkeys(needed, 1)  # the points of the user that has most of them
    for index in reversed(needed):
        node, places = points.nodes[index], uses[index]
        if not isinstance(node.value, dataflow.Map):
            continue
        whole, reason = _decide(node, places, costs[index], boxes, rules)
        if whole:
            arrays.append((index, _box_of(node, places, boxes), f"{node.name} {reason}"))
            boxes.append(arrays[-1][1])
            places = {len(boxes) - 1: {(0,) * len(node.dims): None}}
        elif reason and _count(places) > asked[index]:
            notes.append(f"{node.name} {reason}")
        for nest, offsets in ((nest, at) for nest, some in places.items() for at in some):
            for operand, at in points.operands((index, offsets)):
                uses[operand].setdefault(nest, {})[at] = None
                asked[operand] = max(asked[operand], _count(places))
    return Placement(tuple(reversed(arrays)), tuple(reversed(notes)))


def _decide(
    node: Node, places: Uses, cost: float, boxes: Sequence[Ranges], rules: Rules
) -> tuple[bool, str]:
    """Return whether the node becomes an array, and why (nothing for one that is used once)."""
    if not node.dims:
        return False, ""
    if node.name in rules.inline:
        return False, "is computed in place: asked for"
    if node.name in rules.arrays:
        return True, "is an array: asked for"
    if cost >= INVARIANT_COST and any(_is_repeated(node, boxes[nest], rules) for nest in places):
        return True, f"is an array: {cost:.0f} operations that an outer loop would repeat"
    count = _count(places)
    again = (count - 1) * cost
    limit = rules.target.operations_per_element(ITEMSIZES[node.value.dtype])
    figures = f"{count} points x {cost:.0f} operations"
    if count > MOST_POINTS:
        return True, f"is an array: {figures}, more than {MOST_POINTS} points"
    if again > limit:
        return True, f"is an array: {figures}, {again:.0f} again > {limit:.0f} to store"
    if count == 1:
        return False, ""
    return False, f"is computed in place: {figures}, {again:.0f} again <= {limit:.0f} to store"


def _count(places: Uses) -> int:
    return sum(map(len, places.values()))


def _is_repeated(node: Node, box: Ranges, rules: Rules) -> bool:
    """Tell whether loops over `box` would compute the same value again and again."""
    dims = tuple(range_.dim for range_ in box)
    order, _ = order_dims(dims, [dim for _, dim in rules.units])
    level = level_of(node.dims, loops_over(box, order))
    return any(dim not in node.dims for dim in order[:level])


def _box_of(node: Node, uses: Uses, boxes: Sequence[Ranges]) -> Ranges:
    """Return the hull of what the nests need of a node."""
    needed: list[Ranges] = []
    for nest, places in uses.items():
        ranges = {range_.dim: range_ for range_ in boxes[nest]}
        columns = zip(*places, strict=True)
        needed.append(
            tuple(
                Range(dim, add(ranges[dim].start, min(at)), add(ranges[dim].stop, max(at)))
                for dim, at in zip(node.dims, columns, strict=True)
            )
        )
    result = needed[0]
    for other in needed[1:]:
        result = hull(result, other)
    return result
