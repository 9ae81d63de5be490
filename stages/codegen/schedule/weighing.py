"""Weigh a value that several points need: store it in an array, or compute it again at each use.

A value at few points may hide long chains: an average of averages of averages costs little at each
step, and a nest computes the first of them at many points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from ....runtime.language import DimensionKind
from ....runtime.process import classes
from ...ir.dataflow import Literal, Map, Region, Value
from ...ir.loops import ITEMSIZES, Ranges
from ...machine import Machine
from ..pass_list import Rules
from .costs import COMPUTED, own_cost, point_costs, users_of
from .needs import Need
from .order import level_of, loops_over, order_of
from .places import Coords, still
from .points import Node, Points

# With more points of one value, a loop body spills registers and compiles slowly.
MOST_POINTS = 48
# In longer bodies, compile time grows with the square of the length.
MOST_VALUES = 500
# From so many operations on, a value over fewer dimensions than its loops becomes an array.
INVARIANT_COST = 8
# An index that takes more table lookups than this is stored in an array.
MOST_TABLES = 3
BESIDE = "beside shared arrays"


@classes.define
class Use:
    """The places at which one nest needs a node, and the box around them."""

    places: dict[Coords, None]
    need: Need


Uses: TypeAlias = dict[int, Use]  # by nest


def points_of(uses: Uses) -> int:
    """Return at how many points all nests together need a node."""
    return sum(len(use.places) for use in uses.values())


@classes.frozen
class Weighing:
    """Decides for one node after another; `boxes` and `values` grow while the nests do.

    Attributes:
        points: the nodes of the program.
        rules: the target, and the nodes for which an option decides.
        users: how many nodes use each node.
        costs: the operations of each node at one point.
        again: see `computed_again`; for a node, some places and a limit.
        boxes: the box of each nest.
        values: how many values a nest computes so far.
        handed: the bytes of each level that a scan hands on or takes.
        beside: whether a value may be computed again because all that costs much in it becomes an
            array for other users.

    """

    points: Points
    rules: Rules
    users: Mapping[int, int]
    costs: Mapping[int, float]
    again: Callable[[int, tuple[Coords, ...], float], float]
    boxes: Mapping[int, Ranges]
    values: Mapping[int, int]
    handed: Mapping[int, int]
    beside: bool = True

    def decide(self, index: int, uses: Uses, above: float) -> tuple[bool, str]:
        """Return whether the node becomes an array, and why; no reason for a node with one use.

        `above` are the operations that its users compute again.
        """
        node = self.points.nodes[index]
        if not node.dims or any(dim.kind is DimensionKind.LOCAL for dim in node.dims):
            return False, ""
        if any(span is None for use in uses.values() for span in use.need.values()):
            return False, "is computed in place: it is displaced"
        if node.name in self.rules.inline:
            return False, "is computed in place: asked for, or planned"
        if node.name in self.rules.arrays:
            return True, "is an array: asked for, or planned"
        if self._is_flag(node):
            return False, "is computed in place: it tests a choice of two numbers"
        if self._reads_nothing(index):
            return False, "is computed in place: only its place decides"
        return self._weigh(index, uses, above)

    def _cost(self, index: int) -> float:
        """Return the operations of a node at one point, with those of what only a region uses."""
        node, cost = self.points.nodes[index], self.costs[index]
        if not isinstance(node.value, Region) or cost > own_cost(node.value, self.rules.target):
            return cost
        return cost + sum(self.costs[each] for each, _ in node.operands if self.users[each] == 1)

    def _is_flag(self, node: Node) -> bool:
        """Tell whether a node tests a choice of two numbers.

        The number is stored: loops that load bools beside wider numbers compute few points at once.
        """
        if not (isinstance(node.value, Map) and node.value.op in ("eq", "ne")):
            return False
        first = self.points.nodes[node.operands[0][0]]
        return (
            isinstance(first.value, Map)
            and first.value.op == "select"
            and all(
                isinstance(self.points.nodes[each].value, Literal) for each, _ in first.operands[1:]
            )
        )

    def _reads_nothing(self, index: int) -> bool:
        """Tell whether a node reads nothing: its place chooses a number, and tests cost nothing.

        To load the number would cost as much as to load any other.
        """
        if self.rules.target.test or not _is_choice(self.points.nodes[index].value):
            return False
        cone = self.points.reachable([self.points.here(index)])
        return all(_is_choice(self.points.nodes[each].value) for each in cone)

    def _weigh(self, index: int, uses: Uses, above: float) -> tuple[bool, str]:
        node, cost = self.points.nodes[index], self._cost(index)
        if cost >= INVARIANT_COST and self._is_repeated(node, uses):
            return True, f"is an array: {cost:.0f} operations that an outer loop would repeat"
        count, size = points_of(uses), ITEMSIZES[node.value.dtype]
        lasting = self._lasting(uses, size)
        again = (lasting - 1) * cost
        limit = self.rules.target.operations_per_element(size)
        figures = f"{count} point{'s' * (count > 1)} x {cost:.0f} operations"
        if lasting > count:
            figures += f", {lasting / count:.1f} times as long in few threads"
        if count > MOST_POINTS:
            return True, f"is an array: {figures}, more than {MOST_POINTS} points"
        if cost > 1 and any(self.values.get(nest, 0) >= MOST_VALUES for nest in uses):
            return True, f"is an array: its loop computes {MOST_VALUES} other values already"
        if again > limit:
            if self.beside and not isinstance(node.value, Region):
                own = (lasting - 1) * self._beside_shared(index, limit / (lasting - 1))
                if own <= limit:
                    return False, f"is computed in place: {figures}, {own:.0f} {BESIDE}"
            return True, f"is an array: {figures}, {again:.0f} again > {limit:.0f} to store"
        deep = again + above
        places = dict.fromkeys(coords for use in uses.values() for coords in use.places)
        if again and deep > DEEP * limit and self.again(index, tuple(places), limit) > limit:
            return True, f"is an array: {figures}, {deep:.0f} again with those of its users"
        if any(self._depth(coords) > MOST_TABLES for coords in places):
            return True, f"is an array: found through more than {MOST_TABLES} tables"
        if count == 1:
            return False, ""
        return False, f"is computed in place: {figures}, {again:.0f} again <= {limit:.0f} to store"

    def _beside_shared(self, index: int, enough: float) -> float:
        """Return the cost of a node without the values that become arrays for other users, too.

        These are the values that cost more than `enough`, and that also others use. Without any,
        the cost is that of the node.
        """
        users, costs = self.users, self.costs
        cone = self.points.reachable([self.points.here(index)])
        within = users_of(self.points.nodes, cone)
        stored = {each for each in cone[:-1] if users[each] > within[each] and costs[each] > enough}
        if not stored:
            return costs[index]
        own = {each: users[each] for each in cone}
        return point_costs(self.points, own, self.rules.target, stored)[index]

    def array_cost(self, index: int, uses: Uses) -> float:
        """Return what an array costs that nests need: one operation, its memory, its loads."""
        value, target = self.points.nodes[index].value, self.rules.target
        own = sum(dim.kind is not DimensionKind.LOCAL for dim in value.dims)
        gather = target.gather_alone if own == 1 else target.gather
        loads = sum(
            gather if self._depth(coords) else 1.0 for use in uses.values() for coords in use.places
        )
        return (
            own_cost(value, target) + target.operations_per_element(ITEMSIZES[value.dtype]) + loads
        )

    def _lasting(self, uses: Uses, itemsize: int) -> float:
        """Return how many points of nests with many threads take as long as those of all nests."""
        return sum(
            len(use.places) * self.rules.target.slowdown(itemsize, self.handed.get(nest, 0))
            for nest, use in uses.items()
        )

    def _depth(self, coords: Coords) -> int:
        return max((self.points.indices.depth(base) for base, _ in coords), default=0)

    def _is_repeated(self, node: Node, uses: Uses) -> bool:
        """Tell whether the loops of a nest would compute the same value repeatedly."""
        for nest, use in uses.items():
            order, _ = order_of(self.boxes[nest], self.rules)
            loops = loops_over(self.boxes[nest], order)
            for coords in use.places:
                known = self.points.indices.mentioned(list(zip(node.dims, coords, strict=True)))
                if any(dim not in known for dim in order[: level_of(known, loops)]):
                    return True
        return False


def _is_choice(value: Value) -> bool:
    """Tell whether a value is a number, or chosen among its operands."""
    return isinstance(value, Literal | Region) or (
        isinstance(value, Map) and value.op in ("select", "and", "or", "not")
    )


# What users of a value compute again already, in elements stored, before the chain is cut.
DEEP: Final = 1.5
# Longer chains are judged by their first values.
LONGEST: Final = 200


def computed_again(
    points: Points,
    users: Mapping[int, int],
    target: Machine,
    index: int,
    places: Iterable[Coords],
    limit: float,
) -> float:
    """Return what an array in place of a node at `places` would save, in operations.

    That is, the operations of the values that it alone depends on, at the points beyond those that
    one point of the node needs; `users` counts the users of each value. A value that costs more
    than `limit` would become an array itself, and so counts as `limit`. The sum ends where it
    exceeds the limit.
    """
    nodes = points.nodes
    one = still(len(nodes[index].dims))
    cone = points.reachable([(index, one)])
    within = users_of(nodes, cone)
    found: dict[int, tuple[dict[Coords, None], dict[Coords, None]]] = {
        index: (dict.fromkeys(places), {one: None})
    }
    total = 0.0
    for node in reversed(cone[-LONGEST:]):
        value, is_shared = nodes[node].value, node != index and users[node] > within[node]
        if node not in found or not value.dims or is_shared or not isinstance(value, COMPUTED):
            continue
        every, single = found[node]
        again = max(len(every) - len(single), 0) * own_cost(value, target)
        total += min(again, limit)
        if total > limit:
            break
        if again <= limit:
            for own, others in ((0, every), (1, single)):
                for coords in others:
                    ahead = dict(zip(nodes[node].dims, coords, strict=True))
                    for operand in nodes[node].operands:
                        below, at = points.placed(operand, ahead)
                        found.setdefault(below, ({}, {}))[own][at] = None
    return total
