"""Decide which values become arrays, and which are recomputed at each use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from ....runtime.process import classes
from ...ir import dataflow
from ...ir.bounds import Ranges
from ..errors import CodegenError
from .costs import point_costs, users_of
from .needs import (
    Need,
    Span,
    box_of,
    gated_like,
    inside,
    joined,
    need_at,
    need_of,
    outside_of,
)
from .places import Coords, Point, is_still, still
from .points import Env, Node, Points
from .rules import Rules
from .weighing import Use, Uses, Weighing, need_around, points_of


@classes.frozen
class Array:
    """A node that becomes an array over a box."""

    node: int
    box: Ranges
    reason: str


@classes.frozen
class Walk:
    """A scan, its box, and the numbers of the roots that it stores itself.

    With `fused`, these are all roots, computed from the results of the scan level by level.
    """

    node: int
    box: Ranges
    stores: tuple[int, ...]
    fused: bool = False


@classes.frozen
class Placement:
    """The nodes that become arrays and the scans, both ascending; notes on the other nodes.

    `needs[nest][node]` are the indices at which a nest needs a node. The name of a nest is the node
    that it computes, `STORES` for the nest of the stores.
    """

    arrays: tuple[Array, ...]
    walks: tuple[Walk, ...]
    notes: tuple[str, ...]
    needs: Mapping[int, Mapping[int, Need]]


STORES = -1


def place(points: Points, roots: Sequence[Point], box: Ranges, rules: Rules) -> Placement:
    """Decide for each node, from the stores to the inputs.

    A node that becomes an array gets a nest of its own, which needs its operands once. So each node
    has few points, however long the chain is.
    """
    return _Placing(points, roots, box, rules).run()


class _Placing:
    """The uses of each node that the walk has found so far."""

    def __init__(self, points: Points, roots: Sequence[Point], box: Ranges, rules: Rules) -> None:
        self.points = points
        self.count = len(roots)
        self.box = box
        self.needed = points.reachable(roots)
        self.users = users_of(points.nodes, self.needed)
        self.costs = point_costs(points.nodes, self.users, rules.target.gather)
        self.uses: dict[int, Uses] = {index: {} for index in self.needed}
        self.boxes: dict[int, Ranges] = {STORES: box}
        self.asked = dict.fromkeys(self.needed, 1)  # points of the user that has most of them
        self.above = dict.fromkeys(self.needed, 0.0)  # operations that users compute again
        self.values: dict[int, int] = {}  # how many a nest computes
        self.weighing = Weighing(points, rules, self.users, self.costs, self.boxes, self.values)
        self.arrays: list[Array] = []
        self.walks: list[Walk] = []
        self.notes: list[str] = []
        self.results: dict[int, list[int]] = {}  # of scans
        self.roots: dict[int, list[int]] = {}  # those that are a result, and may be stored at once
        for number, point in enumerate(roots):
            is_result = isinstance(points.nodes[point[0]].value, dataflow.Result)
            if is_result and is_still(point[1]):
                self.roots.setdefault(point[0], []).append(number)
            else:
                self._ask(point, {}, STORES, need_of(box))

    def run(self) -> Placement:
        """Decide for all nodes, users before operands."""
        for index in reversed(self.needed):
            value = self.points.nodes[index].value
            if isinstance(value, dataflow.Map | dataflow.Reduce | dataflow.Region):
                self._place(index)
            elif isinstance(value, dataflow.Result):
                scan, _ = self.points.nodes[index].operands[0]
                self.results.setdefault(scan, []).append(index)
            elif isinstance(value, dataflow.Scan):
                self._walk(index, value)
        last = next((walk.node for walk in self.walks if walk.fused), STORES)
        needs: dict[int, dict[int, Need]] = {}
        for index, uses in self.uses.items():
            for nest, use in uses.items():
                own = needs.setdefault(last if nest == STORES else nest, {})
                own[index] = joined(own.get(index), use.need)
        arrays = tuple(sorted(self.arrays, key=lambda array: array.node))
        return Placement(arrays, tuple(reversed(self.walks)), tuple(reversed(self.notes)), needs)

    def _ask(self, relative: Point, ahead: Env, nest: int, need: Need) -> None:
        """Record that a nest needs a point, relative to `ahead`, and the points that locate it."""
        pending = [relative]
        while pending:
            point = pending.pop()
            pending += self.points.needed_to_find(point)
            coords = self.points.placed(point, ahead)[1]
            more = need_at(self.points, point, need)
            use = self.uses[point[0]].get(nest)
            if use is None:
                self.uses[point[0]][nest] = Use({coords: None}, more)
            else:
                use.places[coords] = None
                use.need = joined(use.need, more)

    def _place(self, index: int) -> None:
        node, uses = self.points.nodes[index], self.uses[index]
        whole, reason = self.weighing.decide(index, uses, self.above[index])
        count = points_of(uses)
        if whole:
            need = need_around(uses)
            self.arrays.append(Array(index, box_of(need, node.dims), f"{node.name} {reason}"))
            self.boxes[index] = self.arrays[-1].box
            self._pass_on(node, index, [still(len(node.dims))], need_of(self.boxes[index]))
            count = 1
        else:
            if reason and count > self.asked[index]:
                self.notes.append(f"{node.name} {reason}")
            again = self.above[index] + (count - 1) * self.costs[index] if count > 1 else 0.0
            for operand, _ in node.operands:
                self.above[operand] = max(self.above[operand], again)
            for nest, use in uses.items():
                self.values[nest] = self.values.get(nest, 0) + len(use.places)
                self._pass_on(node, nest, list(use.places), use.need)
        for operand, _ in node.operands:
            self.asked[operand] = max(self.asked[operand], count)

    def _pass_on(self, node: Node, nest: int, places: Sequence[Coords], need: Need) -> None:
        """Record that a nest needs the operands of a node that it computes at some places."""
        needs = self._divided(node, need)
        for coords in places:
            ahead = dict(zip(node.dims, coords, strict=True))
            for operand, part in zip(node.operands, needs, strict=True):
                self._ask(operand, ahead, nest, part)

    def _divided(self, node: Node, need: Need) -> list[Need]:
        """Return the need of each operand: the branches of a region each on their part."""
        if not isinstance(node.value, dataflow.Region):
            return [need] * len(node.operands)
        boxes = node.value.boxes
        outer = outside_of(boxes)
        return [inside(need, boxes), need if outer is None else inside(need, outer)]

    def _walk(self, index: int, value: dataflow.Scan) -> None:
        """Open the nest of a scan over its levels, on all columns that any nest needs."""
        results = self.results.pop(index, [])
        need: Need | None = None
        for result in results:
            if self.uses[result]:
                need = joined(need, need_around(self.uses[result]))
            if result in self.roots:
                need = joined(
                    need, need_at(self.points, self.points.here(result), need_of(self.box))
                )
        if need is None:
            return
        whole = scan_need(value, need)
        box = box_of(gated_like(whole, need), value.dims)
        alike = {each.dim: each for each in box} == {each.dim: each for each in self.box}
        if alike and self._is_fused(results):
            self.walks.append(Walk(index, box, tuple(range(self.count)), fused=True))
            self._open(index, box)
            return
        # The memory needs no gate: without columns it is empty. A gated box begins far away, and
        # the room around it and around a box that a nest reads would be as far across.
        room = box_of(whole, value.dims)
        stores: list[int] = []
        for result in sorted(results):
            if alike:
                stores += self.roots.get(result, [])
            elif result in self.roots:
                self._ask(self.points.here(result), {}, STORES, need_of(self.box))
            if self.uses[result]:
                name = self.points.nodes[result].name
                reason = f"{name} is an array: the result of a scan"
                self.arrays.append(Array(result, room, reason))
        self.walks.append(Walk(index, box, tuple(sorted(stores))))
        self._open(index, box)

    def _is_fused(self, results: Sequence[int]) -> bool:
        """Tell whether all stores, and nothing else, follow from one level of a scan.

        Then the stores need no nest of their own, and the results no arrays.
        """
        if any(walk.fused for walk in self.walks) or not set(self.roots) <= set(results):
            return False
        users = [self.uses[result] for result in results if self.uses[result]]
        only = all(list(uses) == [STORES] for uses in users)
        return (
            bool(users) and only and all(map(is_still, chain(*(u[STORES].places for u in users))))
        )

    def _open(self, index: int, box: Ranges) -> None:
        """Begin the nest of a scan: record the need of its first states and arguments."""
        self.boxes[index] = box
        for operand in self.points.nodes[index].operands:
            self._ask(operand, {}, index, need_of(box))


def scan_need(value: dataflow.Scan, need: Need) -> Need:
    """Return all levels of a scan on the columns that are needed, maybe none."""
    levels = Span(value.start, value.stop)
    whole: Need = {dim: levels if dim is value.axis else need[dim] for dim in value.dims}
    if any(span is None for span in whole.values()):
        raise CodegenError(
            "The result of a scan is read at a horizontal offset that a field gives; that is not "
            "supported.",
            hint="Write the result of the scan to a field, and read that in another statement.",
        )
    return whole
