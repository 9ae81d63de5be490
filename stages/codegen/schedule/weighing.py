"""Weigh a value that several points need: store it in an array, or compute it again at each use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from ....runtime.language.dimension import DimensionKind
from ....runtime.process import classes
from ...ir.bounds import Ranges
from .costs import COMPUTED, ITEMSIZES
from .depth import DEEP, beside_shared, computed_again
from .needs import Need
from .order import level_of, loops_over, order_dims
from .places import Coords
from .points import Node, Points
from .rules import Rules

# With more points of one value, a loop body spills registers and compiles slowly.
MOST_POINTS = 48
# In longer bodies, compile time grows with the square of the length.
MOST_VALUES = 500
# From so many operations on, a value over fewer dimensions than its loops becomes an array.
INVARIANT_COST = 8
# An index that takes more table lookups than this is stored in an array.
MOST_TABLES = 3


@classes.define
class Use:
    """The places at which one nest needs a node, and the box around them."""

    places: dict[Coords, None]
    need: Need


Uses: TypeAlias = dict[int, Use]  # by nest


@classes.frozen
class Weighing:
    """Decides for one node after another; `boxes` and `values` grow while the nests do.

    Attributes:
        points: the nodes of the program.
        rules: the target, and the nodes for which an option decides.
        users: how many nodes use each node.
        costs: the operations of each node at one point.
        boxes: the box of each nest.
        values: how many values a nest computes so far.
        handed: the bytes of each level that a scan hands on or takes.

    """

    points: Points
    rules: Rules
    users: Mapping[int, int]
    costs: Mapping[int, float]
    boxes: Mapping[int, Ranges]
    values: Mapping[int, int]
    handed: Mapping[int, int]

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
            return False, "is computed in place: asked for"
        if node.name in self.rules.arrays:
            return True, "is an array: asked for"
        return self._weigh(index, uses, above)

    def _weigh(self, index: int, uses: Uses, above: float) -> tuple[bool, str]:
        node, cost = self.points.nodes[index], self.costs[index]
        if cost >= INVARIANT_COST and self._is_repeated(node, uses):
            return True, f"is an array: {cost:.0f} operations that an outer loop would repeat"
        count, size = self.points_of(uses), ITEMSIZES[node.value.dtype]
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
        places = dict.fromkeys(coords for use in uses.values() for coords in use.places)
        if again > limit:
            enough = limit / (lasting - 1)
            target = self.rules.target
            one = beside_shared(self.points, self.users, self.costs, index, enough, target)
            own = (lasting - 1) * one
            # one element through a table replaces all those of the arrays
            is_single = len(node.dims) == 1 and any(map(self._depth, places))
            if own <= limit and not is_single:
                return False, f"is computed in place: {figures}, {own:.0f} beside shared arrays"
            return True, f"is an array: {figures}, {again:.0f} again > {limit:.0f} to store"
        deep = again + above
        if (
            again
            and deep > DEEP * limit
            and computed_again(self.points, self.users, index, places, limit) > limit
        ):
            return True, f"is an array: {figures}, {deep:.0f} again with those of its users"
        if any(self._depth(coords) > MOST_TABLES for coords in places):
            return True, f"is an array: found through more than {MOST_TABLES} tables"
        if count == 1:
            return False, ""
        return False, f"is computed in place: {figures}, {again:.0f} again <= {limit:.0f} to store"

    def points_of(self, uses: Uses) -> int:
        """Return at how many points all nests together need a node."""
        return sum(len(places) for _, places in self._together(uses))

    def _lasting(self, uses: Uses, itemsize: int) -> float:
        """Return how many points of nests with many threads take as long as those of all nests."""
        slowdown = self.rules.target.slowdown
        return sum(
            len(places) * slowdown(itemsize, self.handed.get(nests[0], 0))
            for nests, places in self._together(uses)
        )

    def _together(self, uses: Uses) -> list[tuple[list[int], set[Coords]]]:
        """Return nests that are one, and the places at which these need a node.

        They fill arrays over the same box, and none needs the array of another.
        """
        found: list[tuple[list[int], set[Coords]]] = []
        for nest, use in uses.items():
            nests, places = next(
                (each for each in found if self._are_one(each[0], nest)), ([], set())
            )
            if not nests:
                found.append((nests, places))
            nests.append(nest)
            places.update(use.places)
        return found

    def _are_one(self, nests: Sequence[int], nest: int) -> bool:
        """Tell whether a nest fills an array as others do: those of one box and depth are one."""
        if any(self.boxes[each] != self.boxes[nest] for each in nests):
            return False
        own = (*nests, nest)
        fill = all(each >= 0 and self._is_computed(each) for each in own)
        return fill and not any(map(self._below(own).__contains__, own))

    def _is_computed(self, node: int) -> bool:
        return isinstance(self.points.nodes[node].value, COMPUTED)

    def _below(self, nodes: Sequence[int]) -> Collection[int]:
        """Return what any of some nodes depends on."""
        operands = (each for node in nodes for each in self.points.nodes[node].operands)
        return set(self.points.reachable(operands))

    def _depth(self, coords: Coords) -> int:
        return max((self.points.indices.depth(base) for base, _ in coords), default=0)

    def _is_repeated(self, node: Node, uses: Uses) -> bool:
        """Tell whether the loops of a nest would compute the same value repeatedly."""
        for nest, use in uses.items():
            dims = [range_.dim for range_ in self.boxes[nest]]
            order, _ = order_dims(dims, [dim for _, dim in self.rules.units])
            loops = loops_over(self.boxes[nest], order)
            for coords in use.places:
                axes = list(zip(node.dims, coords, strict=True))
                known = self.points.indices.mentioned(axes)
                if any(dim not in known for dim in order[: level_of(known, loops)]):
                    return True
        return False
