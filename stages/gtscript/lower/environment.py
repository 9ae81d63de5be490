"""The environment of a stencil while it is lowered: values of variables, and bounds.

The bounds of intervals and regions as bounds of the dataflow IR: 0, `domain.K` + n, ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import bounds
from ...ir.dataflow import Bound, Const, Input, Leaf, Range, Ranges, Ref, ScalarSymbol, Side, add
from ...ir.stencil import Block, End, Limits, Node, Number, Operation, Read, Stencil, Variable
from ...lower.graph import Graph
from .. import AXES, I, J, K, data_dims, least_levels, reads_below, size_of


@classes.frozen
class Environment:
    """The graph, and by number of the variable its value; a variable without one is undefined.

    `beyond` are the variables that may be read or written above or below the domain, where blocks
    leave the values from before; `leaves` are the arguments.
    """

    root: Stencil
    graph: Graph
    values: dict[int, Ref]
    beyond: frozenset[int]
    leaves: Mapping[str, Leaf]

    @classmethod
    def of(cls, root: Stencil, leaves: Iterable[Leaf], static: Mapping[str, str]) -> Environment:
        """Return the environment before the first block: fields as they are at the call."""
        graph = Graph()
        known = {leaf.name: leaf for leaf in leaves}
        values: dict[int, Ref] = {}
        for number, variable in enumerate(root.variables):
            if variable.kind == "level":
                values[number] = _as(graph, graph.index(K), variable.dtype)
            if variable.name not in known or variable.kind not in ("field", "table", "scalar"):
                continue
            if variable.kind != "scalar":
                dims = known[variable.name].dims
                values[number] = graph.input(variable.name, dims, variable.dtype)
            elif variable.name in static:
                values[number] = graph.literal(variable.dtype, static[variable.name])
            else:
                values[number] = graph.scalar(variable.name, variable.dtype)
        return cls(root, graph, values, frozenset(_beyond(root)), known)

    def variable(self, number: int) -> Variable:
        """Return a variable."""
        return self.root.variables[number]

    def ends(self, number: int) -> tuple[Bound, Bound]:
        """Return the first level that a variable has, and one past the last."""
        leaf = self.leaves.get(self.variable(number).name)  # an argument without influence has none
        return (Const(0), size(K)) if leaf is None else leaf.ends(K)

    def current(self, number: int) -> Ref:
        """Return the value of a variable; any number where it is undefined."""
        if number in self.values:
            return self.values[number]
        return self.nothing(self.variable(number).dtype)

    def forget_dead(self, live: Set[int]) -> None:
        """Drop the temporaries that no later block reads: nothing may depend on old fields."""
        for number in self.values.keys() - live:
            if self.variable(number).kind in ("temporary", "mask"):
                del self.values[number]

    def nothing(self, dtype: str) -> Ref:
        """Return the value of an undefined variable."""
        text = {"bool": "False"}.get(dtype, "0")
        return self.graph.literal(dtype, text)

    def at(self, ref: Ref, offset: tuple[int, int, int]) -> Ref:
        """Return a value at an offset."""
        for dim, by in zip((I, J, K), offset, strict=True):
            ref = self.graph.shift(ref, dim, by)
        return ref

    def placed(self, ref: Ref, node: Read, row: Callable[[int], Ref]) -> Ref:
        """Return a value where a read of it is; `row` gives the values of rows of the tree."""
        graph = self.graph
        for dim, place in zip(data_dims(len(node.places)), node.places, strict=True):
            ref = graph.level(graph.displace(ref, dim, self._wide(row(place))), dim, Const(0))
        ref = self.at(ref, node.offset)
        if node.level is None or K not in graph[ref].dims:
            return ref
        by = self._wide(row(node.level))
        if not isinstance(graph[ref], Input):  # it has no value on other levels
            box = ((Side(K, *self.ends(node.variable)),),)
            ref = graph.region(box, ref, self.nothing(graph[ref].dtype))
        if not node.is_absolute:
            return graph.displace(ref, K, by)
        if K in graph[by].dims:
            return graph.displace(ref, K, graph.map("sub", (by, graph.index(K))))
        return graph.level(graph.displace(ref, K, by), K, Const(0))

    def _wide(self, ref: Ref) -> Ref:
        return _as(self.graph, ref, "int64")

    def value(self, root: int, read: Callable[[Read], Ref]) -> Ref:
        """Return the value of an expression; `read` gives those of its reads."""
        return valued(self.graph, self.root.nodes, root, read)

    def chosen(self, mask: Ref | None, limits: Limits | None, new: Ref, old: Ref) -> Ref:
        """Return the value after an assignment under a mask, in a region."""
        if mask is not None:
            new = self.graph.map("select", (mask, new, old))
        if limits is not None:
            new = self.graph.region((box_of(limits),), new, old)
        return new

    def on_levels(self, number: int, block: Block, new: Ref, old: Ref) -> Ref:
        """Return the value of a variable after a block that assigns it on its levels."""
        variable = self.variable(number)
        side = side_of(block, number not in self.beyond)
        if variable.kind == "mask" or side is None:
            return new
        return self.graph.region(((side,),), new, old)


def valued(graph: Graph, nodes: tuple[Node, ...], root: int, read: Callable[[Read], Ref]) -> Ref:
    """Add an expression of the tree to a graph, operands first."""
    done: dict[int, Ref] = {}
    stack = [root]
    while stack:
        place = stack[-1]
        node = nodes[place]
        operands = () if isinstance(node, Read) else node.operands  # `read` gives the others
        missing = [each for each in operands if each not in done]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        match node:
            case Number():
                done[place] = graph.literal(node.dtype, node.text)
            case Read():
                done[place] = read(node)
            case Operation():
                args = tuple(done[each] for each in node.args)
                done[place] = graph.map(node.op, args, node.dtype if node.op == "cast" else "")
    return done[root]


def _as(graph: Graph, ref: Ref, dtype: str) -> Ref:
    return ref if graph[ref].dtype == dtype else graph.map("cast", (ref,), dtype)


def _beyond(root: Stencil) -> Iterator[int]:
    """Yield the variables that are read or written at levels that may lie outside of the domain."""
    least = least_levels(root.blocks)
    for block in root.blocks:
        for each in block.body:
            may_leave = each.level is not None or not stays_inside(block, each.offset, least)
            if may_leave and each.moves and root.variables[each.variable].kind == "field":
                yield each.variable
        roots = [ref for each in block.body for ref in each.roots]
        for read in reads_below(root.nodes, roots):
            is_given = root.variables[read.variable].kind == "field"
            if read.level is not None and is_given:
                yield read.variable
            k = read.offset[2]
            if k and not stays_inside(block, k, least):
                yield read.variable


ZERO: Final = Const(0)
FIRST: Final = End(False, 0)
LAST: Final = End(True, 0)


def size(dim: Dimension) -> Bound:
    """Return the number of points of the domain along a dimension."""
    return ScalarSymbol(size_of(dim.value))


def bound_of(end: End, dim: Dimension) -> Bound:
    """Return a bound as an index: the domain starts at 0."""
    return add(size(dim), end.offset) if end.of_end else Const(end.offset)


def levels_of(block: Block) -> tuple[Bound, Bound]:
    """Return the first level of a block, and one past the last."""
    return bound_of(block.start, K), bound_of(block.stop, K)


def is_whole(block: Block) -> bool:
    """Tell whether a block has all levels."""
    return (block.start, block.stop) == (FIRST, LAST)


def with_first(block: Block) -> Block | None:
    """Return a block with the level before it, in its order, if that begins the domain."""
    if block.order == "forward":
        is_next = block.start == End(False, 1)
        return classes.evolve(block, start=FIRST) if is_next else None
    is_next = block.stop == End(True, -1)
    return classes.evolve(block, stop=LAST) if is_next else None


def side_of(block: Block, is_open: bool) -> Side | None:
    """Return the levels of a block; with `is_open` the ends of the domain are open.

    None stands for all levels.
    """
    start, stop = levels_of(block)
    low = None if is_open and block.start == FIRST else start
    high = None if is_open and block.stop == LAST else stop
    return None if low is None and high is None else Side(K, low, high)


def stays_inside(block: Block, k: int, least: int) -> bool:
    """Tell whether reads at an offset along K stay in any domain of `least` levels or more."""
    lowest = block.start.offset + k + (least if block.start.of_end else 0)
    highest = block.stop.offset + k - (0 if block.stop.of_end else least)
    return lowest >= 0 and highest <= 0


def box_of(limits: Limits) -> tuple[Side, ...]:
    """Return the box of a region; no sides stand for everywhere."""
    sides = []
    for dim, (start, stop) in ((I, limits.i), (J, limits.j)):
        if start is not None or stop is not None:
            low = None if start is None else bound_of(start, dim)
            high = None if stop is None else bound_of(stop, dim)
            sides.append(Side(dim, low, high))
    return tuple(sides)


def written_box(axes: str, writes: Sequence[tuple[Block, Limits | None]], least: int) -> Ranges:
    """Return the smallest box around what some assignments to a field write in the domain."""
    ranges = []
    for axis in axes:
        dim = AXES[axis]
        if dim is K:
            ranges.append(_around([block for block, _ in writes], least))
            continue
        sides = [_sides(limits, dim) for _, limits in writes]
        lows = [_clipped(start, dim, bounds.maximum, ZERO) for start, _ in sides]
        highs = [_clipped(stop, dim, bounds.minimum, size(dim)) for _, stop in sides]
        start = ZERO if ZERO in lows else bounds.least(lows)
        stop = size(dim) if size(dim) in highs else bounds.greatest(highs)
        ranges.append(Range(dim, start, stop))
    return tuple(ranges)


def _around(blocks: Sequence[Block], least: int) -> Range:
    """Return the levels of some blocks; a domain has at least so many that none is empty."""
    lows = _by_end(block.start for block in blocks)
    highs = _by_end(block.stop for block in blocks)
    starts = [bound_of(End(of_end, min(each)), K) for of_end, each in lows.items()]
    stops = [bound_of(End(of_end, max(each)), K) for of_end, each in highs.items()]
    if len(lows) > 1 and min(lows[False]) <= least + min(lows[True]):
        starts = [Const(min(lows[False]))]
    if len(highs) > 1 and max(highs[False]) <= least + max(highs[True]):
        stops = [bound_of(End(True, max(highs[True])), K)]
    return Range(K, bounds.least(starts), bounds.greatest(stops))


def _by_end(ends: Iterable[End]) -> dict[bool, list[int]]:
    found: dict[bool, list[int]] = {}
    for end in ends:
        found.setdefault(end.of_end, []).append(end.offset)
    return found


def _sides(limits: Limits | None, dim: Dimension) -> tuple[End | None, End | None]:
    if limits is None:
        return None, None
    return limits.i if dim is I else limits.j


def _clipped(
    end: End | None, dim: Dimension, clip: Callable[[Bound, Bound], Bound], limit: Bound
) -> Bound:
    return limit if end is None else clip(limit, bound_of(end, dim))
