"""Lower assignments that depend on levels before: one scan, whose state they are.

A state before the first level is the plane of the value from before the block. Where an earlier
block has computed that plane as the first level of the domain, the scan begins there, with a step
that leaves its states as they are: so its results are whole values, not two pieces of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial

from ....runtime.process import classes
from ...ir.dataflow import Bound, Input, Literal, Ref, Region, Scalar, Side, add, difference
from ...ir.stencil import Block, Offset, Read
from ...lower.graph import Graph
from ...lower.scans import body_of, trimmed
from ..axes import K
from ..sweeps import Sweep, Use
from .environment import Environment, box_of, levels_of, valued, with_first

State = tuple[int, int]  # an assignment, and how many levels ago; 0 is the level itself


@classes.define
class Column:
    """One component of a sweep as a scan.

    `used` gives the value of a use outside of the component, `placed` that of a read whose place a
    value gives; `live` are the variables that later blocks may read. `states` are in order: their
    rows in the body, their first values, and the arguments of the scan with their rows in the body.
    """

    environment: Environment
    sweep: Sweep
    component: Sequence[int]
    used: Callable[[int, Use, Offset], Ref]
    placed: Callable[[int, Read], Ref]
    live: Set[int]
    body: Graph = classes.field(factory=Graph)
    states: dict[State, int] = classes.field(factory=dict)
    init: list[Ref] = classes.field(factory=list)
    args: dict[Ref, int] = classes.field(factory=dict)
    rows: dict[int, Ref] = classes.field(factory=dict)
    led: dict[int, Block] = classes.field(factory=dict)

    def scanned(self) -> dict[int, Ref]:
        """Add the scan; return the value of each assignment that is read outside.

        `led` gives those that are also what they were on the level before the block, as the block
        with that level.
        """
        exported = self._exported()
        self._lead(exported)
        self._list_states(exported)
        for index in self.component:
            self.rows[index] = self._assigned(index)
        results = tuple(self._next(state) for state in self.states)
        block = next(iter(self.led.values()), self.sweep.block)
        if self.led:
            results = self._kept_at_first(results)
        body, args = trimmed(body_of(self.body, results), tuple(self.args))
        forward, levels = block.order == "forward", levels_of(block)
        made = self.environment.graph.scan(body, tuple(self.init), args, K, forward, levels)
        return {index: made[place] for (index, back), place in self.states.items() if back == 1}

    # --- states ------------------------------------------------------------------------------

    def _lead(self, exported: Sequence[int]) -> None:
        """Begin on the first level of the domain if an earlier block has computed states there."""
        longer = with_first(self.sweep.block)
        if longer is not None:
            level, graph = self._before(1), self.environment.graph
            for index in exported:
                variable = self._variable(index)
                old = at_level(graph, self.environment.current(variable), level)
                has_levels = "K" in self.sweep.variables[variable].axes
                if has_levels and not isinstance(graph[old], Input | Literal | Scalar):
                    self.led[index] = longer

    def _list_states(self, exported: Sequence[int]) -> None:
        """List what the scan carries: what is read on later levels, and what is read outside."""
        inside, deepest = set(self.component), dict.fromkeys(exported, 0)
        for index in self.component:
            for use in self.sweep.needed(index):
                if use.of in inside and use.back:
                    assert use.of is not None  # it is in a set of numbers
                    deepest[use.of] = max(deepest.get(use.of, 0), use.back)
        for index, most in sorted(deepest.items()):
            for back in range(1, max(most, 1) + 1):
                self.states[index, back] = len(self.states)
                is_read = back <= most or index in self.led
                self.init.append(self._first(index, back) if is_read else self._unread(index))

    def _unread(self, index: int) -> Ref:
        """Return the first value of a state that no level reads: its old value may not exist."""
        return self.environment.nothing(self.sweep.variables[self._variable(index)].dtype)

    def _exported(self) -> list[int]:
        """Return the assignments of the component that others read, or later blocks or callers."""
        inside, body = set(self.component), self.sweep.block.body
        found = {index for index in self.component if self._is_left(index)}
        for index in range(len(body)):
            if index not in inside:
                found |= {each.of for each in self.sweep.needed(index) if each.of in inside}
        return sorted(each for each in found if each is not None)

    def _is_left(self, index: int) -> bool:
        """Tell whether an assignment leaves a value that is needed after the block."""
        number = self._variable(index)
        is_needed = number in self.live or self.sweep.variables[number].kind == "field"
        return is_needed and self.sweep.last(number) == index

    def _first(self, index: int, back: int) -> Ref:
        """Return a state before the first level: the value there before the block."""
        graph, level = self.environment.graph, self._before(back)
        old = self.environment.current(self._variable(index))
        return graph.level(at_level(graph, old, level), K, level)

    def _before(self, back: int) -> Bound:
        """Return the level so many levels before the first one of the block."""
        start, stop = levels_of(self.sweep.block)
        return add(start, -back) if self.sweep.block.order == "forward" else add(stop, back - 1)

    def _variable(self, index: int) -> int:
        return self.sweep.block.body[index].variable

    def _kept_at_first(self, results: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """Return the next states where the first level leaves them as they are."""
        later = self._whether(self._levels())
        states = [self._state(each) for each in self.states]
        pairs = zip(results, states, strict=True)
        return tuple(self.body.map("select", (later, new, state)) for new, state in pairs)

    def _levels(self) -> tuple[Side, ...]:
        """Return the levels of the block among those of the scan."""
        start, stop = levels_of(self.sweep.block)
        is_forward = self.sweep.block.order == "forward"
        return (Side(K, start, None) if is_forward else Side(K, None, stop),)

    def _next(self, state: State) -> Ref:
        index, back = state
        return self.rows[index] if back == 1 else self._state((index, back - 1))

    def _state(self, state: State) -> Ref:
        variable = self.sweep.variables[self._variable(state[0])]
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
        use, region = self.sweep.use(index, node), self.sweep.block.body[index].region
        if use.of in self.component or region is None or not use.aside:
            return self._used(node.variable, use, node.offset)
        graph, value = self.environment.graph, self.used(node.variable, use, node.offset)
        nothing = self.environment.nothing(graph[value].dtype)
        return self._argument(graph.region((box_of(region),), value, nothing))

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
        return self._whether(box_of(region))

    def _whether(self, box: tuple[Side, ...]) -> Ref:
        """Return whether the point is in a box."""
        graph = self.environment.graph
        yes, no = (graph.literal("bool", text) for text in ("True", "False"))
        place = self.args.setdefault(graph.region((box,), yes, no), len(self.args))
        return self.body.scalar(f"a{place}", "bool")

    def _argument(self, ref: Ref) -> Ref:
        graph = self.environment.graph
        dtype = graph[ref].dtype
        if self.led and K in graph[ref].dims:  # it may not exist before the block
            ref = graph.region((self._levels(),), ref, self.environment.nothing(dtype))
        place = self.args.setdefault(ref, len(self.args))
        return self.body.scalar(f"a{place}", dtype)


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
