"""Decide which values become arrays, and which are recomputed at each use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial

from ....runtime.language import Dimension
from ...ir import dataflow
from ...ir.column_rows import Column
from ...ir.loops import ITEMSIZES, Range, Ranges, reached
from ..pass_list import Rules
from .costs import own_cost, point_costs, users_of
from .needs import (
    Array,
    Need,
    Placement,
    Walk,
    around,
    box_of,
    gated_by,
    gated_like,
    inside,
    joined,
    need_at,
    need_of,
    outside_of,
    scan_need,
    stores,
)
from .places import Coords, Point, is_still, still
from .points import Env, Node, Points
from .weighing import BESIDE, Use, Uses, Weighing, computed_again, points_of


def place(
    points: Points, groups: Sequence[tuple[Sequence[Point], Ranges]], rules: Rules
) -> Placement:
    """Decide for each node, from the stores to the inputs; a group has roots and a box.

    A node that becomes an array gets a nest of its own, which needs its operands once. So each node
    has few points, however long the chain is, and however many groups need it.
    """
    found = _Placing(points, groups, rules).run()
    if any(each.endswith(BESIDE) for each in found.notes):
        other = _Placing(points, groups, rules, beside=False).run()
        return min(found, other, key=lambda each: each.cost)
    return found


class _Placing:
    """The uses of each node that the walk has found so far."""

    def __init__(
        self,
        points: Points,
        groups: Sequence[tuple[Sequence[Point], Ranges]],
        rules: Rules,
        beside: bool = True,
    ) -> None:
        self.points = points
        self.counts = [len(roots) for roots, _ in groups]
        key = tuple(root for roots, _ in groups for root in roots), rules.target
        if key not in points.known_costs:
            users = users_of(points.nodes, points.reachable(key[0]))
            costs = point_costs(points, users, rules.target)
            again = cache(partial(computed_again, points, users, rules.target))
            points.known_costs[key] = users, costs, again
        self.users, self.costs, again = points.known_costs[key]
        self.uses: dict[int, Uses] = {index: {} for index in self.users}
        self.boxes: dict[int, Ranges] = {stores(n): box for n, (_, box) in enumerate(groups)}
        self.groups = {stores(n): frozenset((n,)) for n in range(len(groups))}
        self.within = {stores(n): n for n in range(len(groups))}
        self.asked = dict.fromkeys(self.users, 1)  # points of the user that has most of them
        self.above = dict.fromkeys(self.users, 0.0)  # operations that users compute again
        self.values: dict[int, int] = {}  # how many a nest computes
        self.handed: dict[int, int] = {}  # bytes of a level, by scans that hand results on
        self.weighing = Weighing(
            points,
            rules,
            self.users,
            self.costs,
            again,
            self.boxes,
            self.values,
            self.handed,
            beside,
        )
        self.nests: dict[int, int] = {}  # by array the nest that fills it
        self.filled: dict[int, list[int]] = {}  # and the other way round
        self.cost = 0.0
        self.arrays: list[Array] = []
        self.walks: list[Walk] = []
        self.notes: list[str] = []
        self.results: dict[int, list[int]] = {}  # of scans
        self.results_of: dict[int, list[int]] = {}  # of those that have a nest
        # roots that are a result, and may be stored at once: numbers of their groups and in these
        self.roots: dict[int, list[tuple[int, int]]] = {}
        for group, (roots, box) in enumerate(groups):
            for number, point in enumerate(roots):
                is_result = isinstance(points.nodes[point[0]].value, dataflow.Result)
                is_scan = is_result and isinstance(points.scan(point[0]), dataflow.Scan)
                if is_scan and is_still(point[1]):
                    self.roots.setdefault(point[0], []).append((group, number))
                else:
                    self._ask([(point, need_of(box))], ({},), stores(group))

    def run(self) -> Placement:
        """Decide for all nodes, users before operands."""
        for index in reversed(self.users):
            value = self.points.nodes[index].value
            if isinstance(value, dataflow.Map | dataflow.Reduce | dataflow.Region):
                self._place(index)
            elif isinstance(value, dataflow.Result):
                scan, _ = self.points.nodes[index].operands[0]
                self.results.setdefault(scan, []).append(index)
            elif isinstance(value, dataflow.Scan | Column):
                self._walk(index, value)
        last = {walk.nest: walk.node for walk in self.walks}
        needs: dict[int, dict[int, Need]] = {}
        for index, uses in self.uses.items():
            for nest, use in uses.items():
                own = needs.setdefault(last.get(nest, nest), {})
                own[index] = joined(own.get(index), use.need)
        arrays = tuple(sorted(self.arrays, key=lambda array: array.node))
        walks, notes = tuple(reversed(self.walks)), tuple(reversed(self.notes))
        return Placement(
            arrays, walks, notes, needs, self.groups, self.within, self.nests, self.cost
        )

    def _ask(self, asked: Iterable[tuple[Point, Need]], aheads: Iterable[Env], nest: int) -> None:
        """Record that a nest needs points, relative to each place, and the points that locate them.

        Each comes with the need of its user.
        """
        found: list[tuple[Point, dict[Coords, None]]] = []
        for relative, need in asked:
            pending = [relative]
            while pending:
                point = pending.pop()
                pending += self.points.needed_to_find(point)
                more, uses = need_at(self.points, point, need), self.uses[point[0]]
                use = uses.setdefault(nest, Use({}, more))
                use.need = joined(use.need, more)
                found.append((point, use.places))
        for ahead in aheads:
            for point, places in found:
                places[self.points.placed(point, ahead)[1]] = None

    def _place(self, index: int) -> None:
        node, uses = self.points.nodes[index], self.uses[index]
        whole, reason = self.weighing.decide(index, uses, self.above[index])
        count = points_of(uses)
        if whole:
            need = self._around(index, [(nest, use.need) for nest, use in uses.items()])
            self.arrays.append(Array(index, box_of(need, node.dims), f"{node.name} {reason}"))
            self.boxes[index] = self.arrays[-1].box
            nest = self._filling(index)
            self._pass_on(node, nest, [still(len(node.dims))], need_of(self.boxes[index]))
            self.cost += self.weighing.array_cost(index, uses)
            count = 1
        else:
            if reason and count > self.asked[index]:
                self.notes.append(f"{node.name} {reason}")
            again = self.above[index] + (count - 1) * self.costs[index] if count > 1 else 0.0
            for operand, _ in node.operands:
                self.above[operand] = max(self.above[operand], again)
            self.cost += count * own_cost(node.value, self.weighing.rules.target)
            for nest, use in uses.items():
                self.values[nest] = self.values.get(nest, 0) + len(use.places)
                self._pass_on(node, nest, list(use.places), use.need)
        for operand, _ in node.operands:
            self.asked[operand] = max(self.asked[operand], count if reason else self.asked[index])

    def _filling(self, index: int) -> int:
        """Return the nest that fills an array: one for all of a box that do not need each other.

        What both are computed from is then one use.
        """
        like = (self.boxes[index], self.groups[index], self.within.get(index))
        users = self._users(self.uses[index])
        nest = next(
            (
                nest
                for nest in self.filled
                if nest not in users
                and (self.boxes[nest], self.groups[nest], self.within.get(nest)) == like
            ),
            index,
        )
        self.nests[index] = nest
        self.filled.setdefault(nest, []).append(index)
        return nest

    def _users(self, nests: Iterable[int]) -> set[int]:
        """Return nests and all that need what these fill or walk."""
        made = dict(self.filled)
        for walk in self.walks:
            made[walk.nest] = [*made.get(walk.nest, ()), *self.results_of[walk.node]]
        return reached(nests, lambda nest: [u for n in made.get(nest, ()) for u in self.uses[n]])

    def _pass_on(self, node: Node, nest: int, places: Sequence[Coords], need: Need) -> None:
        """Record that a nest needs the operands of a node that it computes at some places."""
        asked = zip(node.operands, self._divided(node, need), strict=True)
        envs = [{} if is_still(at) else dict(zip(node.dims, at, strict=True)) for at in places]
        self._ask(asked, envs, nest)

    def _divided(self, node: Node, need: Need) -> list[Need]:
        """Return the need of each operand: the branches of a region each on their part."""
        if not isinstance(node.value, dataflow.Region):
            return [need] * len(node.operands)
        boxes = node.value.boxes
        outer = outside_of(boxes)
        return [inside(need, boxes), need if outer is None else inside(need, outer)]

    def _walk(self, index: int, value: dataflow.Scan | Column) -> None:
        """Open the nest of a scan over its levels, on all columns that any nest needs."""
        results = self.results_of[index] = sorted(self.results.pop(index, []))
        asks = [(nest, use.need) for result in results for nest, use in self.uses[result].items()]
        for result in results:
            for group, _ in self.roots.get(result, []):
                box = need_of(self.boxes[stores(group)])
                asks.append((stores(group), need_at(self.points, self.points.here(result), box)))
        if not asks:
            return
        asks = [(nest, scan_need(value, need)) for nest, need in asks]
        whole = self._around(index, asks)
        gated = gated_like(whole, whole)
        # without columns it walks no level, so levels need no gate
        self.boxes[index] = box_of({**gated, value.axis: whole[value.axis]}, value.dims)
        if isinstance(value, Column):
            self._act(index, value, results, box_of(around([n for _, n in asks]), value.dims))
            return
        if self._is_fused(index, results):
            (group,) = self.groups[index]
            own = [(group, number) for number in range(self.counts[group])]
            self.walks.append(Walk(index, self.boxes[index], tuple(own), fused=True))
        else:
            # The memory needs no gate: without columns it is empty. A gated box begins far away,
            # and the room around it and around a box that a nest reads would be as far across.
            room = box_of(around([need for _, need in asks]), value.dims)
            own = [store for result in results for store in self._kept(index, result, room)]
            self.walks.append(Walk(index, self.boxes[index], tuple(sorted(own))))
            if self.weighing.rules.hands_on:
                self._hand_on(index, results, value.axis)
        need = need_of(box_of(gated, value.dims))
        for operand in self.points.nodes[index].operands:
            self._ask([(operand, need)], ({},), self.walks[-1].nest)

    def _act(self, index: int, value: Column, results: Sequence[int], room: Ranges) -> None:
        """Open the nest of a column: its results are arrays, planes among them."""
        self.walks.append(Walk(index, self.boxes[index], ()))
        for result in results:
            node = self.points.nodes[result]
            own = tuple(each for each in room if each.dim in node.dims)
            self.arrays.append(Array(result, own, f"{node.name} is an array: of a column"))
        walked = Range(value.axis, value.start, value.stop)
        wanted = (*value.levels, *(walked for _ in value.args))
        for operand, levels in zip(self.points.nodes[index].operands, wanted, strict=True):
            inside = (levels if each.dim is value.axis else each for each in self.boxes[index])
            self._ask([(operand, need_of(tuple(inside)))], ({},), self.walks[-1].nest)

    def _kept(self, index: int, result: int, room: Ranges) -> Iterator[tuple[int, int]]:
        """Yield the roots that a scan stores of a result; others and other nests read an array."""
        for group, number in self.roots.get(result, []):
            if self._is_all_of(index, group):
                yield group, number
            else:
                box = need_of(self.boxes[stores(group)])
                self._ask([(self.points.here(result), box)], ({},), stores(group))
        if self.uses[result]:
            reason = f"{self.points.nodes[result].name} is an array: the result of a scan"
            self.arrays.append(Array(result, room, reason))

    def _hand_on(self, index: int, results: Sequence[int], axis: Dimension) -> None:
        """Note how much a scan hands on to scans over the same columns, and nothing else reads."""
        columns = _across(self.boxes[index], axis)
        alike = {walk.nest for walk in self.walks if _across(walk.box, axis) == columns}
        taken = [each for each in results if self.uses[each] and self.uses[each].keys() <= alike]
        takers = {nest for result in taken for nest in self.uses[result]}
        own = sum(ITEMSIZES[self.points.nodes[result].value.dtype] for result in taken)
        whole = own + max((self.handed.get(nest, 0) for nest in takers), default=0)
        self.handed |= dict.fromkeys((index, *takers) if taken else (), whole)

    def _is_all_of(self, index: int, group: int) -> bool:
        """Tell whether a nest has the box of a group of stores."""
        boxes = (self.boxes[nest] for nest in (index, stores(group)))
        mine, own = ({each.dim: each for each in box} for box in boxes)
        return self.within.get(index) == group and mine == own

    def _is_fused(self, index: int, results: Sequence[int]) -> bool:
        """Tell whether all stores of a group, and nothing else, follow from one level of a scan.

        Then the stores need no nest of their own, and the results no arrays.
        """
        group, *others = self.groups[index]
        if others or not self._is_all_of(index, group):
            return False
        if any(walk.fused and walk.stores[0][0] == group for walk in self.walks):
            return False
        if any(group in dict(own) and root not in results for root, own in self.roots.items()):
            return False
        uses = [self.uses[result] for result in results if self.uses[result]]
        only = all(list(each) == [stores(group)] for each in uses)
        places = (place for each in uses for use in each.values() for place in use.places)
        return bool(uses) and only and all(map(is_still, places))

    def _around(self, index: int, asks: Sequence[tuple[int, Need]]) -> Need:
        """Return the need around those of several nests, and note the groups that they are for.

        Where the call finds the box of a group empty, the group needs nothing. That takes a gate
        along the dimensions in which needs differ, one at least.
        """
        need = around([each for _, each in asks])
        groups = self.groups[index] = frozenset().union(*(self.groups[nest] for nest, _ in asks))
        own = {dim: span.range(dim) for dim, span in need.items() if span is not None}
        boxes = {n: {each.dim: each for each in self.boxes[stores(n)]} for n in sorted(groups)}
        found = [n for n, box in boxes.items() if box == own or len(groups) == 1]
        value = self.points.nodes[index].value
        if isinstance(value, Column):  # planes are empty only where all is
            across = {dim: range_ for dim, range_ in own.items() if dim is not value.axis}
            found += [n for n, box in boxes.items() if box == across]
        if found:
            self.within[index] = found[0]
            return need
        within = {nest: self.boxes[stores(group)] for nest, group in self.within.items()}
        gated = around(
            [gated_by(each, within[nest]) if nest in within else each for nest, each in asks]
        )
        alike = {dim: span for dim, span in need.items() if all(e[dim] == span for _, e in asks)}
        return gated if len(alike) == len(need) else {**gated, **alike}


def _across(box: Ranges, axis: Dimension) -> Ranges:
    """Return the columns of a box."""
    return tuple(range_ for range_ in box if range_.dim is not axis)
