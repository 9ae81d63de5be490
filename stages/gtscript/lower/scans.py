"""Lower assignments that depend on levels before: one scan, whose state they are.

A state before the first level is the plane of the value from before the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ....runtime.process import classes
from ...ir.bounds import Bound, add, difference
from ...ir.dataflow import Ref, Region, Side
from ...ir.stencil import Offset, Read
from ...lower.graph import Graph
from ...lower.scans import body_of, trimmed
from ..axes import K
from ..sweeps import Sweep, Use
from .bounds import box_of, levels_of
from .environment import Environment, valued

State = tuple[int, int]  # an assignment, and how many levels ago; 0 is the level itself


@classes.define
class Column:
    """One component of a sweep as a scan.

    `used` gives the value of a use outside of the component, `placed` that of a read whose place a
    value gives. `states` are in order: their rows in
    the body, their first values, and the arguments of the scan with their rows in the body.
    """

    environment: Environment
    sweep: Sweep
    component: Sequence[int]
    used: Callable[[int, Use, Offset], Ref]
    placed: Callable[[int, Read], Ref]
    body: Graph = classes.field(factory=Graph)
    states: dict[State, int] = classes.field(factory=dict)
    init: list[Ref] = classes.field(factory=list)
    args: dict[Ref, int] = classes.field(factory=dict)
    rows: dict[int, Ref] = classes.field(factory=dict)

    def scanned(self) -> dict[int, Ref]:
        """Add the scan; return the value of each assignment that is read outside."""
        self._list_states()
        for index in self.component:
            self.rows[index] = self._assigned(index)
        results = tuple(self._next(state) for state in self.states)
        body, args = trimmed(body_of(self.body, results), tuple(self.args))
        forward = self.sweep.block.order == "forward"
        levels = levels_of(self.sweep.block)
        made = self.environment.graph.scan(body, tuple(self.init), args, K, forward, levels)
        return {index: made[place] for (index, back), place in self.states.items() if back == 1}

    # --- states ------------------------------------------------------------------------------

    def _list_states(self) -> None:
        """List what the scan carries: what is read on later levels, and what is read outside."""
        inside, deepest = set(self.component), dict.fromkeys(self._exported(), 1)
        for index in self.component:
            for use in self.sweep.needed(index):
                if use.of in inside and use.back:
                    assert use.of is not None  # it is in a set of numbers
                    deepest[use.of] = max(deepest.get(use.of, 1), use.back)
        for index, most in sorted(deepest.items()):
            for back in range(1, most + 1):
                self.states[index, back] = len(self.states)
                self.init.append(self._first(index, back))

    def _exported(self) -> list[int]:
        """Return the assignments of the component that others read, or that are the last."""
        inside, body = set(self.component), self.sweep.block.body
        found = {
            index for index in self.component if self.sweep.last(body[index].variable) == index
        }
        for index in range(len(body)):
            if index not in inside:
                found |= {each.of for each in self.sweep.needed(index) if each.of in inside}
        return sorted(each for each in found if each is not None)

    def _first(self, index: int, back: int) -> Ref:
        """Return a state before the first level: the value there before the block."""
        graph, number = self.environment.graph, self.sweep.block.body[index].variable
        start, stop = levels_of(self.sweep.block)
        level = add(start, -back) if self.sweep.block.order == "forward" else add(stop, back - 1)
        return graph.level(at_level(graph, self.environment.current(number), level), K, level)

    def _next(self, state: State) -> Ref:
        index, back = state
        return self.rows[index] if back == 1 else self._state((index, back - 1))

    def _state(self, state: State) -> Ref:
        variable = self.sweep.variables[self.sweep.block.body[state[0]].variable]
        return self.body.scalar(f"s{self.states[state]}", variable.dtype)

    # --- the body ------------------------------------------------------------------------------

    def _assigned(self, index: int) -> Ref:
        """Return the row of an assignment at one level."""
        assign = self.sweep.block.body[index]
        nodes = self.environment.root.nodes
        new = valued(self.body, nodes, assign.value, partial(self._read, index))
        if self.environment.variable(assign.variable).kind == "mask":
            return new
        old = None
        if assign.mask is not None or assign.region is not None:
            old = self._used(assign.variable, self.sweep.kept(index))
        if assign.mask is not None:
            mask = valued(self.body, nodes, assign.mask, partial(self._read, index))
            assert old is not None  # set for masks
            new = self.body.map("select", (mask, new, old))
        if assign.region is not None and box_of(assign.region):
            assert old is not None  # set for regions
            new = self.body.map("select", (self._inside(index), new, old))
        return new

    def _read(self, index: int, node: Read) -> Ref:
        if node.level is not None or node.places:
            return self._argument(self.placed(index, node))
        return self._used(node.variable, self.sweep.use(index, node), node.offset)

    def _used(self, number: int, use: Use, offset: Offset = (0, 0, 0)) -> Ref:
        """Return what a use means at one level."""
        if use.of not in self.component:
            return self._argument(self.used(number, use, offset))
        assert use.of is not None  # it is in the component
        if use.back == 0:
            return self.rows[use.of]
        return self._state((use.of, use.back))

    def _inside(self, index: int) -> Ref:
        region = self.sweep.block.body[index].region
        assert region is not None  # the caller has one
        graph = self.environment.graph
        yes, no = (graph.literal("bool", text) for text in ("True", "False"))
        return self._argument(graph.region((box_of(region),), yes, no))

    def _argument(self, ref: Ref) -> Ref:
        place = self.args.setdefault(ref, len(self.args))
        return self.body.scalar(f"a{place}", self.environment.graph[ref].dtype)


def at_level(graph: Graph, ref: Ref, level: Bound) -> Ref:
    """Return the branch of regions along K that holds on a level, as far as that is known."""
    while True:
        value = graph[ref]
        if not isinstance(value, Region) or len(value.boxes) != 1:
            return ref
        (box,) = value.boxes
        if len(box) != 1 or box[0].dim is not K:
            return ref
        inside = _holds(box[0], level)
        if inside is None:
            return ref
        ref = value.then if inside else value.otherwise


def _holds(side: Side, level: Bound) -> bool | None:
    known: list[bool | None] = []
    for end, sign in ((side.start, 1), (side.stop, -1)):
        if end is None:
            known.append(True)
            continue
        distance = difference(level, end)
        if distance is None:
            known.append(None)
        else:
            known.append(distance >= 0 if sign > 0 else distance < 0)
    if False in known:
        return False
    return True if None not in known else None
