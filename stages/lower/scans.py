"""The body of a scan: what it does at one level, as a table of scalars of its own."""

from __future__ import annotations

import attrs

from ..ir.dataflow import Body, Ref, Scalar
from .graph import Graph
from .rewrite import reachable, with_operands


def body_of(graph: Graph, results: tuple[Ref, ...]) -> Body:
    """Return the rows that the next state is made from, as a body."""
    kept = Graph()
    rows: dict[Ref, Ref] = {}
    for row in reachable(tuple(graph.values), results):
        rows[row] = kept.add(with_operands(graph[row], rows.__getitem__))
    return Body(tuple(kept.values), tuple(rows[each] for each in results))


def trimmed(body: Body, args: tuple[Ref, ...]) -> tuple[Body, tuple[Ref, ...]]:
    """Return a body and its arguments without those that are unused or given twice."""
    read = {value.name for value in body.values if isinstance(value, Scalar)}
    places: dict[Ref, int] = {}
    for index, arg in enumerate(args):
        if f"a{index}" in read:
            places.setdefault(arg, len(places))
    names = {f"a{index}": f"a{places[arg]}" for index, arg in enumerate(args) if arg in places}
    if all(old == new for old, new in names.items()) and len(places) == len(args):
        return body, args
    graph = Graph()
    rows: list[Ref] = []
    for value in body.values:
        if isinstance(value, Scalar):
            rows.append(graph.add(attrs.evolve(value, name=names.get(value.name, value.name))))
        else:
            rows.append(graph.add(with_operands(value, rows.__getitem__)))
    return Body(tuple(graph.values), tuple(rows[each] for each in body.results)), tuple(places)
