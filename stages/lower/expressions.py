"""Lower one expression of the typed tree: add a row to the graph for each of its leaves.

A region is not an SSA value; a negative number represents it.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ...runtime.language import (
    CollectionType,
    DataType,
    DomainType,
    FieldType,
    OffsetType,
    TupleType,
    leaves,
)
from ...runtime.process import DSLError, WorkflowError
from ..ir import syntax
from ..ir.dataflow import Ref, Table
from . import regions
from .domains import bound_of
from .graph import Graph
from .regions import Formula, inner, outer
from .scans import on_levels_of
from .tables import Tables
from .worklist import finish

Leaves: TypeAlias = tuple[Ref, ...]
Done: TypeAlias = dict[syntax.Ref, Leaves]
Type: TypeAlias = DataType | DomainType


class Expressions:
    """Lower expressions into a graph."""

    def __init__(self, graph: Graph, tables: Tables) -> None:
        self.graph: Final = graph
        self.tables: Final = tables
        self._regions: Final[list[Formula]] = []
        self._sizes: Final[dict[Type, int]] = {}

    def value(self, nodes: tuple[syntax.Expression, ...], ref: syntax.Ref, done: Done) -> Leaves:
        """Return the leaves of an expression, not a name or call, whose operands are lowered."""
        graph, node = self.graph, nodes[ref]
        match node:
            case syntax.Literal():
                return (graph.literal(str(node.type), node.text),)
            case syntax.Operation():
                return (graph.map(node.op, [done[arg][0] for arg in node.args]),)
            case syntax.Select():
                return self.select(done[node.condition][0], done[node.then], done[node.otherwise])
            case syntax.TupleOf():
                return tuple(leaf for element in node.elements for leaf in done[element])
            case syntax.Element():
                start, stop = self.place(nodes[node.of].type, node.index)
                return done[node.of][start:stop]
            case syntax.Broadcast():
                return done[node.arg]
            case syntax.Cast():
                return self._cast(done[node.arg], node.type)
            case syntax.Inside() | syntax.Regions():
                return (self._region(node, done),)
            case syntax.ConcatWhere():
                region = self._formula(done[node.region][0])
                then = [on_levels_of(graph, inner(region), leaf) for leaf in done[node.then]]
                rest = [on_levels_of(graph, outer(region), leaf) for leaf in done[node.otherwise]]
                pairs = zip(then, rest, strict=True)
                return tuple(finish(regions.choice(graph, region, *pair)) for pair in pairs)
        return (self._access(nodes, node, done),)

    def _access(
        self, nodes: tuple[syntax.Expression, ...], node: syntax.Expression, done: Done
    ) -> Ref:
        graph = self.graph
        match node:
            case syntax.ShiftBy():
                return graph.shift(done[node.field][0], node.dim, node.offset, node.onto)
            case syntax.Displace():
                return graph.displace(done[node.field][0], node.dim, done[node.by][0])
            case syntax.Neighbour():
                table = self._table(node.offset, node.index)
                return graph.gather(done[node.field][0], table, node.index)
            case syntax.Neighbours():
                return graph.neighbours(done[node.field][0], self._table(node.offset))
            case syntax.Reduction():
                type_ = nodes[node.field].type
                dims = type_.dims if isinstance(type_, FieldType) else ()
                table = self.tables.along(node.dim, dims)
                return graph.reduce(node.op, done[node.field][0], table)
            case syntax.LocalElement():
                return graph.local(done[node.field][0], node.dim, node.index)
        raise WorkflowError(f"'lower' knows no expression '{type(node).__name__}'.")

    def _table(self, offset: OffsetType, index: int = 0) -> Table:
        table = self.tables.at(offset)
        if index >= table.width > 0:
            raise DSLError(
                None,
                f"Neighbour {index} of '{table.name}' does not exist: the table has "
                f"{table.width} neighbours.",
            )
        return table

    def _region(self, node: syntax.Inside | syntax.Regions, done: Done) -> Ref:
        if isinstance(node, syntax.Inside):
            bound = bound_of(self.graph, done[node.bound][0])
            found = regions.inside(node.dim, node.op, bound)
        else:
            left, right = (self._formula(done[ref][0]) for ref in (node.left, node.right))
            found = regions.pair(node.op, left, right)
        self._regions.append(found)
        return -len(self._regions)

    def _formula(self, ref: Ref) -> Formula:
        return self._regions[-ref - 1]

    def select(self, condition: Ref, then: Leaves, otherwise: Leaves) -> Leaves:
        """Choose by a condition, leaf by leaf."""
        return tuple(
            a if a == b else self._select(condition, a, b)
            for a, b in zip(then, otherwise, strict=True)
        )

    def _select(self, condition: Ref, then: Ref, otherwise: Ref) -> Ref:
        if then < 0 or otherwise < 0:
            raise DSLError(
                None,
                "A region cannot be chosen by a condition.",
                hints=("Choose between the results of two 'concat_where'.",),
            )
        return self.graph.map("select", (condition, then, otherwise))

    def _cast(self, values: Leaves, type_: Type) -> Leaves:
        assert not isinstance(type_, DomainType)  # the type of a cast is a data type
        dtypes = [str(getattr(leaf, "dtype", leaf)) for _, leaf in leaves(type_)]
        return tuple(
            value
            if self.graph[value].dtype == dtype
            else self.graph.map("cast", (value,), dtype=dtype)
            for value, dtype in zip(values, dtypes, strict=True)
        )

    def place(self, type_: Type, index: int) -> tuple[int, int]:
        """Return the first leaf of one element of a tuple, and one past its last."""
        sizes = [self._size(element) for element in elements_of(type_)]
        start = sum(sizes[:index])
        return start, start + sum(sizes[index : index + 1])

    def _size(self, type_: Type) -> int:
        if type_ not in self._sizes:
            count = 1 if isinstance(type_, DomainType) else sum(1 for _ in leaves(type_))
            self._sizes[type_] = count
        return self._sizes[type_]


def operands(node: syntax.Expression) -> tuple[syntax.Ref, ...]:
    """Return the rows of the operands of an expression, in the order of evaluation."""
    match node:
        case syntax.Operation() | syntax.CallOf():
            return node.args
        case syntax.Select():
            return node.condition, node.then, node.otherwise
        case syntax.ConcatWhere():
            return node.region, node.then, node.otherwise
        case syntax.TupleOf():
            return node.elements
        case syntax.Element():
            return (node.of,)
        case syntax.Displace():
            return node.field, node.by
        case syntax.Broadcast() | syntax.Cast():
            return (node.arg,)
        case syntax.Inside():
            return (node.bound,)
        case syntax.Regions():
            return node.left, node.right
        case syntax.Name() | syntax.Literal():
            return ()
    assert isinstance(
        node,
        syntax.ShiftBy
        | syntax.Neighbour
        | syntax.Neighbours
        | syntax.Reduction
        | syntax.LocalElement,
    )
    return (node.field,)


def elements_of(type_: Type) -> tuple[Type, ...]:
    """Return the types of the elements of a tuple or collection."""
    if not isinstance(type_, TupleType | CollectionType):
        raise WorkflowError(f"Expected a tuple, got '{type_}'; 'parse' let it pass.")
    return type_.elements  # type: ignore[return-value]  # data is made of data
