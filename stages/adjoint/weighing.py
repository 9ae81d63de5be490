"""Read weights along transposed tables, where a caller has laid them out so.

The adjoint of a weighted sum over neighbours looks up each weight by two tables: who has a point
for a neighbour, and in which slot. Weights that never change are looked up once, before all calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import Collect, Dataflow, Input, Map, Ref, Region, Table, Value
from ..lower.graph import Graph
from ..lower.rewrite import reachable, remove_dead, with_operands, with_values
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
        places: the rows there of those that have weights.

    """

    rows: Rows
    table: Table
    slots: Table
    weights: Mapping[str, Weights]
    places: dict[Ref, Ref] = classes.field(factory=dict)

    def at(self, row: Ref) -> Ref:
        """Return a row at the points that are listed; only what has weights is computed there."""
        values = tuple(self.rows.graph.values)
        for each in reachable(values, [row]):
            found = self._computed(values[each])
            if found is not None:
                self.places[each] = found
        return self._place(row)

    def _computed(self, value: Value) -> Ref | None:
        """Return the row of a value that has weights there; None of one that has none."""
        graph = self.rows.graph
        if isinstance(value, Input) and not value.version and value.name in self.weights:
            own = self.weights[value.name]
            return graph.input(own.name, own.type.dims, value.dtype)
        if not (isinstance(value, Map | Region) and self.places.keys() & {*value.operands}):
            return None
        if isinstance(value, Region):
            return self._in_boxes(value)
        return graph.map(value.op, map(self._place, value.args), value.dtype)

    def _place(self, row: Ref) -> Ref:
        graph = self.rows.graph
        if row in self.places:
            return self.places[row]
        if {self.table.source, self.slots.source}.isdisjoint(graph[row].dims):
            return row
        return graph.collect(row, self.table, self.slots)

    def _in_boxes(self, value: Region) -> Ref:
        """Return a choice by the points that are listed, as a number: conditions may be stored."""
        rows = self.rows
        one, zero = (rows.literal(number, value.dtype) for number in (1.0, 0.0))
        flag = self._place(rows.graph.region(value.boxes, one, zero))
        inside = rows.apply("ne", flag, zero)
        return rows.apply("select", inside, self._place(value.then), self._place(value.otherwise))
