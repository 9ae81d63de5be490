"""Remove dead values: those that no store depends on."""

from __future__ import annotations

from ..ir.dataflow import Dataflow, Ref
from .graph import Graph
from .rewrite import reachable, with_operands, with_values


def remove_dead(program: Dataflow) -> Dataflow:
    """Keep only the rows that the stores need, in their order."""
    return without_dead(program)[0]


def without_dead(program: Dataflow) -> tuple[Dataflow, dict[Ref, Ref]]:
    """Return the program without dead values, and the new place of each row that is left."""
    roots = (store.value for statement in program.statements for store in statement.stores)
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    for row in reachable(program.values, roots):
        rows[row] = graph.add(with_operands(program.values[row], rows.__getitem__))
    return with_values(program, graph, rows.__getitem__), rows
