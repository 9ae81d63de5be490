"""Sweeps: which assignments of a FORWARD or BACKWARD block depend on each other, level by level.

An assignment uses earlier ones of its level, and the last assignment to a variable on levels
before. The strongly connected components of these uses are recurrences; all other assignments are
values that exist on all levels at once. Recurrences of the same extent are one scan, with the
assignments between them: they often read the same fields.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from ...runtime.process import classes
from ..ir.stencil import Block, Node, Read, Ref, Variable
from .check.extents import Extent
from .levels import reads_below


@classes.frozen
class Use:
    """What a read in a block means: assignment `of`, `back` levels ago; None is the value before.

    It is `aside` if it reads other columns.
    """

    of: int | None
    back: int = 0
    aside: bool = False


@classes.frozen
class Sweep:
    """A block with the uses of its assignments resolved.

    `own` are the assignments to each variable in the block, in order.
    """

    nodes: Sequence[Node]
    variables: Sequence[Variable]
    block: Block
    own: Mapping[int, list[int]]

    @classmethod
    def of(cls, nodes: Sequence[Node], variables: Sequence[Variable], block: Block) -> Sweep:
        """Return the sweep of a block."""
        own: dict[int, list[int]] = {}
        for index, each in enumerate(block.body):
            own.setdefault(each.variable, []).append(index)
        return cls(nodes, variables, block, own)

    @property
    def is_one_level(self) -> bool:
        """Whether the block has one level only, so that no level is before another."""
        start, stop = self.block.start, self.block.stop
        return start.of_end == stop.of_end and stop.offset - start.offset == 1

    def use(self, index: int, read: Read) -> Use:
        """Return what a read of assignment `index` means."""
        variable, k = read.variable, read.offset[2]
        aside = read.offset[:2] != (0, 0)
        if variable not in self.own:
            return Use(None, aside=aside)
        back = -k if self.block.order == "forward" else k
        if back == 0:
            earlier = self._earlier(index, variable)
            if earlier is not None:
                return Use(earlier, 0, aside)
            back = 0 if "K" in self.variables[variable].axes else 1
        if back <= 0 or self.is_one_level:
            return Use(None, aside=aside)
        return Use(self.last(variable), back, aside)

    def last(self, variable: int) -> int:
        """Return the last assignment to a variable."""
        return self.own[variable][-1]

    def kept(self, index: int) -> Use:
        """Return the value that an assignment leaves where its mask or region excludes a point."""
        variable = self.block.body[index].variable
        return self.use(index, Read(dtype="", variable=variable))

    def uses(self, index: int) -> Iterator[tuple[Read, Use]]:
        """Yield what an assignment reads."""
        for read in reads_below(self.nodes, roots_of(self.block, index)):
            yield read, self.use(index, read)

    def needed(self, index: int) -> list[Use]:
        """Return the uses of an assignment, with that of the value that it may keep."""
        found = [use for _, use in self.uses(index)]
        assign = self.block.body[index]
        if assign.mask is not None or assign.region is not None:
            found.append(self.kept(index))
        return found

    def _earlier(self, index: int, variable: int) -> int | None:
        own = self.own[variable]
        place = bisect_left(own, index)
        return own[place - 1] if place else None


def roots_of(block: Block, index: int) -> tuple[Ref | None, ...]:
    """Return the expressions of an assignment."""
    return block.body[index].roots


def components(sweep: Sweep) -> list[list[int]]:
    """Return the strongly connected components of the uses, each after those that it uses."""
    return _strong([sorted(each) for each in _edges(sweep)])


def walks(sweep: Sweep, around: Sequence[Extent]) -> list[list[int]]:
    """Return the components with recurrences of the same extent joined: one walk over the levels.

    What depends on one of them and is needed by another is in the same walk. A use of other columns
    makes an extent grow, so there is none between them. `around` has the extents of assignments.
    """
    edges = _edges(sweep)
    together: dict[Extent, list[int]] = {}
    for component in components(sweep):
        if is_cycle(sweep, component):
            together.setdefault(around[component[0]], []).append(component[0])
    for first, *others in together.values():
        for index in others:
            edges[first].add(index)
            edges[index].add(first)
    return _strong([sorted(each) for each in edges])


def _edges(sweep: Sweep) -> list[set[int]]:
    """Return for each assignment those that it uses."""
    return [
        {use.of for use in sweep.needed(index) if use.of is not None}
        for index in range(len(sweep.block.body))
    ]


def is_cycle(sweep: Sweep, component: Sequence[int]) -> bool:
    """Tell whether a component depends on itself, so that it is a scan."""
    if len(component) > 1:
        return True
    (index,) = component
    return any(use.of == index for use in sweep.needed(index))


def shifted_cycle(nodes: Sequence[Node], variables: Sequence[Variable], block: Block) -> int | None:
    """Return an assignment that depends on itself through other columns; None if none does."""
    sweep = Sweep.of(nodes, variables, block)
    for component in components(sweep):
        if is_cycle(sweep, component):
            inside = set(component)
            for index in component:
                if any(use.aside and use.of in inside for use in sweep.needed(index)):
                    return index
    return None


def is_imperative(nodes: Sequence[Node], variables: Sequence[Variable], block: Block) -> int | None:
    """Return an assignment that only an imperative column can make; None if there is none.

    It is repeated, or writes another level; it reads what the block writes at a level that a value
    gives, or at a place that it computes from itself, level by level.
    """
    sweep = Sweep.of(nodes, variables, block)
    for index, each in enumerate(block.body):
        if each.loops or each.moves:
            return index
    for index in range(len(block.body)):
        for read in reads_below(nodes, roots_of(block, index)):
            if read.level is not None and read.variable in sweep.own:
                return index
    for component in components(sweep):
        if is_cycle(sweep, component):
            for index in component:
                if _is_led(sweep, index, set(component)):
                    return index
    return None


def _is_led(sweep: Sweep, index: int, inside: set[int]) -> bool:
    """Tell whether values of some assignments give the place of a read."""
    for read in reads_below(sweep.nodes, roots_of(sweep.block, index)):
        for place in reads_below(sweep.nodes, read.operands):
            if sweep.use(index, place).of in inside:
                return True
    return False


def _strong(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the strongly connected components of a graph, by Tarjan's algorithm, on a stack."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        stack = [(root, 0)] if root not in order else []
        while stack:
            node, place = stack.pop()
            if place == 0:
                order[node] = low[node] = len(order)
                open_.append(node)
                is_open.add(node)
            if place < len(edges[node]):
                stack.append((node, place + 1))
                target = edges[node][place]
                if target not in order:
                    stack.append((target, 0))
                elif target in is_open:
                    low[node] = min(low[node], order[target])
                continue
            if low[node] == order[node]:
                at = open_.index(node)
                found.append(sorted(open_[at:]))
                is_open.difference_update(open_[at:])
                del open_[at:]
            if stack:
                above = stack[-1][0]
                low[above] = min(low[above], low[node])
    return found
