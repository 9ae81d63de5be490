"""Read weights along transposed tables, where a caller has laid them out so.

The adjoint of a weighted sum over neighbours looks up each weight by two tables: who has a point
for a neighbour, and in which slot. Weights that never change are looked up once, before all calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import Collect, Dataflow, Input, Map, Ref, Region, Table, Value
from ..lower.graph import Graph
from ..lower.rewrite import remove_dead, with_operands, with_values
from .names import Weights
from .rows import Rows


def with_weights(program: Dataflow, weights: Sequence[Weights]) -> Dataflow:
    """Return the program that reads weights along transposed tables where it collected them."""
    if not weights:
        return program
    graph = Graph()
    rows: list[Ref] = []
    tables = {table.name: table for table in program.tables}
    for value in program.values:
        made = with_operands(value, rows.__getitem__)
        if isinstance(made, Collect) and made.index is None:
            own = {each.parameter: each for each in weights if each.table == made.table}
            listed = _Listed(Rows(graph), tables[made.table], tables[made.slots], own)
            rows.append(listed.at(made.arg))
        else:
            rows.append(graph.add(made))
    return remove_dead(with_values(program, graph, rows.__getitem__))


@classes.frozen(eq=False)
class _Listed:
    """Rows at the points that a transposed table lists.

    Attributes:
        weights: what is given along the table, by parameter.
        places: the rows there of those that were asked for.

    """

    rows: Rows
    table: Table
    slots: Table
    weights: Mapping[str, Weights]
    places: dict[Ref, Ref] = classes.field(factory=dict)
    weighted: dict[Ref, bool] = classes.field(factory=dict)

    def at(self, row: Ref) -> Ref:
        """Return a row at the points that are listed; only what has weights is computed there."""
        if row not in self.places:
            self.places[row] = self._computed(row) if self._is_weighted(row) else self._taken(row)
        return self.places[row]

    def _is_weighted(self, row: Ref) -> bool:
        if row not in self.weighted:
            value = self.rows.graph[row]
            operands = value.operands if isinstance(value, Map | Region) else ()
            self.weighted[row] = self._own(value) is not None or any(
                map(self._is_weighted, operands)
            )
        return self.weighted[row]

    def _own(self, value: Value) -> Weights | None:
        if isinstance(value, Input) and not value.version:
            return self.weights.get(value.name)
        return None

    def _computed(self, row: Ref) -> Ref:
        graph, value = self.rows.graph, self.rows.graph[row]
        if isinstance(value, Map):
            return graph.map(value.op, map(self.at, value.args), value.dtype)
        if isinstance(value, Region):
            return self._in_boxes(value)
        own = self._own(value)
        assert own is not None
        return graph.input(own.name, own.type.dims, value.dtype)

    def _taken(self, row: Ref) -> Ref:
        graph = self.rows.graph
        if {self.table.source, self.slots.source}.isdisjoint(graph[row].dims):
            return row
        return graph.collect(row, self.table, self.slots)

    def _in_boxes(self, value: Region) -> Ref:
        """Return a choice by the points that are listed, as a number: conditions may be stored."""
        rows = self.rows
        one, zero = (rows.literal(number, value.dtype) for number in (1.0, 0.0))
        flag = self._taken(rows.graph.region(value.boxes, one, zero))
        inside = rows.apply("ne", flag, zero)
        return rows.apply("select", inside, self.at(value.then), self.at(value.otherwise))
