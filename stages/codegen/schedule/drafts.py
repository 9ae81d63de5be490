"""Draft the nests of groups of stores: fill arrays, walk columns, store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.column_rows import Column as ValueColumn
from ...ir.loops import Buffer, Column, Nest, NestLoop, Ranges, is_empty_box
from ..pass_list import Rules
from .body import NestBody, write_body
from .discovery import Home, Homes
from .jamming import jammed
from .needs import Array, Need, Placement, Walk, joined, stores
from .order import loops_over, order_of
from .placement import place
from .places import Point
from .points import Points
from .scans import (
    Held,
    first_levels,
    first_states,
    held_states,
    leaves_of,
    scan_body,
    scan_loops,
)


@classes.frozen
class StoreGroup:
    """The stores of one statement with one box: they share a nest.

    A group without stores has the nests that fill arrays for several others.
    """

    statement: int
    box: Ranges
    stores: tuple[dataflow.Store, ...]


@classes.frozen
class Draft:
    """The nests of some groups in order, and the arrays that they fill."""

    groups: tuple[StoreGroup, ...]
    nests: tuple[Nest | Column, ...]
    arrays: tuple[Buffer, ...]
    notes: tuple[str, ...]


def draft_nests(
    points: Points, groups: Sequence[StoreGroup], number: int, first: int, rules: Rules
) -> Draft:
    """Return the nests of groups that share arrays; their groups have numbers from `number` on.

    Arrays have numbers from `first` on. What several groups need comes first, in a group of its own
    unless its box is that of one of them.
    """
    if is_empty_box(groups[0].box):
        return Draft(tuple(groups), (), (), ())
    roots = [[points.at(store.value) for store in group.stores] for group in groups]
    placement = place(points, list(zip(roots, (each.box for each in groups), strict=True)), rules)
    if any(nest not in placement.within for nest in placement.groups):
        groups = [StoreGroup(groups[0].statement, (), ()), *groups]
    return _Drafting(points, groups, number, first, rules, placement).run(roots)


@classes.frozen
class _Fill:
    """A nest that fills arrays: several of one box, or those of a scan."""

    box: Ranges
    arrays: tuple[Array, ...] = ()
    walk: Walk | None = None

    @property
    def node(self) -> int:
        """The first node that it computes."""
        return self.arrays[0].node if self.walk is None else self.walk.node


class _Drafting:
    """Make the nests of some groups, given the values that are arrays."""

    def __init__(
        self,
        points: Points,
        groups: Sequence[StoreGroup],
        number: int,
        first: int,
        rules: Rules,
        placement: Placement,
    ) -> None:
        self.points = points
        self.groups = groups
        self.number = number
        self.rules = rules
        self.units = [dim for _, dim in rules.units]
        self.placement = placement
        self.states: list[Buffer] = []
        self.names = {array.node: f"@{first + i}" for i, array in enumerate(placement.arrays)}
        self.homes: Homes = {
            array.node: Home(self.names[array.node], array.box, self._axis(array.node))
            for array in placement.arrays
        }

    def _axis(self, node: int) -> Dimension | None:
        is_result = isinstance(self.points.nodes[node].value, dataflow.Result)
        return self.points.scan(node).axis if is_result else None

    def run(self, roots: Sequence[Sequence[Point]]) -> Draft:
        """Return the nests: those for several groups, then by group what it needs and stores."""
        fills = self._fills()
        nests = [nest for fill in fills.pop(None, []) for nest in self._filled(fill)]
        for group, own in enumerate(roots):
            nests += self._of_group(group, own, fills.get(group, []))
        arrays = (*map(self._array, self.placement.arrays), *self.states)
        return Draft(tuple(self.groups), tuple(nests), arrays, self.placement.notes)

    def _of_group(
        self, group: int, roots: Sequence[Point], fills: Sequence[_Fill]
    ) -> list[Nest | Column]:
        """Return the nests that fill arrays for one group only, then the one that stores."""
        nests = [nest for fill in fills for nest in self._filled(fill)]
        by_scans = {store for walk in self.placement.walks for store in walk.stores}
        own = self._group(group)
        pairs = [
            (store.target, root)
            for number, (store, root) in enumerate(zip(own.stores, roots, strict=True))
            if (group, number) not in by_scans
        ]
        if not pairs:
            return nests
        nest = self._nest(pairs, own.box, [stores(group)], self.homes, "stores")
        needs = self._needs([stores(group)])
        if nests or not self.rules.jam or not self.homes.keys().isdisjoint(needs):
            return [*nests, nest]
        dims = [range_.dim for range_ in own.box]
        return [*jammed(self.points, nest, dims, pairs, self.homes, needs)]

    def _fills(self) -> dict[int | None, list[_Fill]]:
        """Return the fills in order by the one group that needs them, None for several.

        Arrays of one box and one depth in the chain share a nest.
        """
        shared: dict[tuple[int | None, int, Ranges], list[Array]] = {}
        walked: dict[int, Walk] = {walk.node: walk for walk in self.placement.walks}
        found: dict[int | None, list[tuple[int, _Fill]]] = {}
        results = {array.node: self._walk_of(array) for array in self.placement.arrays}
        plain = {each.node: each for each in self.placement.arrays if results[each.node] is None}
        depths = self._depths([*plain, *walked], results)
        for node in sorted(depths):
            group, *others = self.placement.groups[node]
            user = None if others else group
            if node in plain:
                shared.setdefault((user, depths[node], plain[node].box), []).append(plain[node])
            else:
                own = tuple(each for each in self.placement.arrays if results[each.node] == node)
                fill = _Fill(walked[node].box, own, walked[node])
                found.setdefault(user, []).append((depths[node], fill))
        for (user, depth, box), arrays in shared.items():
            found.setdefault(user, []).append((depth, _Fill(box, tuple(arrays))))
        return {
            user: [fill for _, fill in sorted(own, key=lambda each: (each[0], each[1].node))]
            for user, own in found.items()
        }

    def _depths(self, nodes: Sequence[int], walks: Mapping[int, int | None]) -> dict[int, int]:
        """Return how many nests of a chain end with that of each node; `walks` fill arrays."""
        placement = self.placement
        below = {
            node: [walks[each] or each for each in reads if each in walks]
            for node in nodes
            for reads in (placement.needs.get(placement.nests.get(node, node), {}),)
        }
        depths: dict[int, int] = {}
        for node in TopologicalSorter(below).static_order():
            depths[node] = 1 + max((depths[each] for each in below[node]), default=0)
        return depths

    def _group(self, group: int) -> StoreGroup:
        return self.groups[self._number(stores(group)) - self.number]

    def _number(self, nest: int) -> int:
        """Return the number of a nest's group."""
        several = not self.groups[0].stores
        within = self.placement.within.get(nest)
        return self.number + (0 if within is None else within + several)

    def _walk_of(self, array: Array) -> int | None:
        """Return the scan that fills an array, if one does."""
        node = self.points.nodes[array.node]
        return node.operands[0][0] if isinstance(node.value, dataflow.Result) else None

    def _filled(self, fill: _Fill) -> list[Nest | Column]:
        if fill.walk is not None:
            return self._scanned(fill.walk, fill.arrays)
        nodes = [array.node for array in fill.arrays]
        homes = {node: home for node, home in self.homes.items() if node not in nodes}
        values = [(self.names[node], self.points.here(node)) for node in nodes]
        return [self._nest(values, fill.box, nodes, homes, "fills")]

    def _nest(
        self,
        pairs: Sequence[tuple[str, Point]],
        box: Ranges,
        nodes: Sequence[int],
        homes: Homes,
        verb: str,
    ) -> Nest:
        order, reason = order_of(box, self.rules)
        loops = loops_over(box, order)
        body = write_body(
            self.points, pairs, loops, homes, self._needs(nodes), rims=not self.rules.many_outputs
        )
        why = f"{verb} {', '.join(buffer for buffer, _ in pairs)}"
        return self._made(nodes[0], body, loops, f"{why}; {reason}" if loops else why)

    def _needs(self, nodes: Sequence[int]) -> Mapping[int, Need]:
        needs: dict[int, Need] = {}
        for nest in dict.fromkeys(self.placement.nests.get(node, node) for node in nodes):
            for node, need in self.placement.needs.get(nest, {}).items():
                needs[node] = joined(needs.get(node), need)
        return needs

    def _made(self, node: int, body: NestBody, loops: tuple[NestLoop, ...], reason: str) -> Nest:
        return Nest(self._number(node), loops, body.rows, reason, body.reads, body.parts)

    def _acting(self, walk: Walk, column: ValueColumn, arrays: Sequence[Array]) -> Column:
        """Return a column; variables that nobody reads have arrays of their own."""
        leaves = leaves_of(self.points, walk.node)
        found = {leaves[array.node]: self._array(array) for array in arrays}
        held = {}
        for variable, (operand, _) in enumerate(self.points.nodes[walk.node].operands):
            if variable < len(column.init) and variable not in column.planes:
                dtype = self.points.nodes[operand].value.dtype
                held[variable] = found.get(variable) or self._held(walk, dtype)
        planes = {k: array for k, array in found.items() if k in column.planes}
        from .column_accesses import Place  # most programs have no imperative columns
        from .columns import column_of

        drafted = Place(
            self.points, walk.node, column, self._number(walk.node), walk.box, self.homes,
            self._needs([walk.node]), held, planes,
        )  # fmt: skip
        return column_of(drafted, self.units, f"acts by {self.points.nodes[walk.node].name}")

    def _held(self, walk: Walk, dtype: str) -> Buffer:
        """Return an array for a variable of a column."""
        number = self._number(walk.node) * 1000 + len(self.states)
        why = f"a variable of {self.points.nodes[walk.node].name}"
        made = array_over(f"@v{number}", dtype, walk.box, self.rules, why)
        self.states.append(made)
        return made

    def _scanned(self, walk: Walk, arrays: Sequence[Array]) -> list[Nest | Column]:
        """Return the nest of a scan, after the nest that sets its states if they are arrays."""
        scan = self.points.nodes[walk.node]
        value = self.points.scan(walk.node)
        if isinstance(value, ValueColumn):
            return [self._acting(walk, value, arrays)]
        loops, beside = scan_loops(value, walk.box, self.units, self.rules.columns_apart)
        pairs = [(self.names[array.node], self.points.here(array.node)) for array in arrays]
        for group, number in walk.stores:
            store = self._group(group).stores[number]
            pairs.append((store.target, self.points.at(store.value)))
        needs = self._needs([walk.node])
        states: tuple[Held | None, ...] = ()
        nests: list[Nest | Column] = []
        why = f"walks {scan.name}, stores {', '.join(buffer for buffer, _ in pairs)}"
        if beside:
            number = self._number(walk.node) * 1000 + len(self.states)
            leaves = leaves_of(self.points, walk.node)
            results = {leaves[array.node]: self._array(array) for array in arrays}
            states = held_states(
                value, scan.name, number, walk.box, loops, results,
                all_leaves=not self.rules.many_outputs,
            )  # fmt: skip
            own = {k: held.array for k, held in enumerate(states) if held and k not in results}
            self.states += own.values()
            levels = first_levels(walk.box, value)
            nests += [self._first(walk, each, levels, needs) for each in (own, results) if each]
        body, init = scan_body(self.points, walk.node, pairs, states, loops, self.homes, needs)
        return [*nests, classes.evolve(self._made(walk.node, body, loops, why), states=init)]

    def _first(
        self, walk: Walk, arrays: Mapping[int, Buffer], levels: Ranges, needs: Mapping[int, Need]
    ) -> Nest:
        """Return the nest that sets the first values of some leaves of a state."""
        (dims, *_) = (array.dims for array in arrays.values())
        box = tuple(range_ for range_ in levels if range_.dim in dims)
        loops = loops_over(box, order_of(box, self.rules)[0])
        body = first_states(self.points, walk.node, arrays, loops, self.homes, needs)
        name = self.points.nodes[walk.node].name
        return self._made(walk.node, body, loops, f"sets the states of {name}")

    def _array(self, array: Array) -> Buffer:
        dtype, name = self.points.nodes[array.node].value.dtype, self.names[array.node]
        made = array_over(name, dtype, array.box, self.rules, array.reason)
        walk = self._walk_of(array)
        scan = None if walk is None else self.points.scan(walk)
        if (
            isinstance(scan, dataflow.Scan)
            and scan_loops(scan, array.box, self.units, self.rules.columns_apart)[1]
        ):
            return classes.evolve(made, box=first_levels(made.box, scan, around=True))
        return made


def array_over(name: str, dtype: str, box: Ranges, rules: Rules, reason: str) -> Buffer:
    """Return an array over a box, whose elements lie in the order of the loops that fill it."""
    order, _ = order_of(box, rules)
    dims, unit = tuple(range_.dim for range_ in box), order[-1] if order else None
    return Buffer(name, "arena", dtype, dims, unit, box, order, reason=reason)
