"""The environment of a stencil while it is lowered: the value of each variable so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set

from ....runtime.process import classes
from ...ir.bounds import Bound, Const
from ...ir.dataflow import Input, Leaf, Ref, Side
from ...ir.stencil import Block, Limits, Node, Number, Operation, Read, Stencil, Variable
from ...lower.graph import Graph
from ..axes import I, J, K, data_dims
from ..levels import least_levels
from ..reads import reads_below
from .bounds import box_of, side_of, size, stays_inside


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
