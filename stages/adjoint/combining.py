"""Let scans hand on what is made of their results, where that is fewer arrays.

The adjoint of a solver gives the adjoints of all its coefficients. Where a program adds and scales
some of them before it does anything else, the scan gives the sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import Body, Dataflow, Literal, Map, Ref, Result, Scan, Value
from ..lower.graph import Graph
from ..lower.rewrite import reachable, with_operands, with_values
from ..lower.scans import body_of
from .rows import Rows, is_float


def with_combined_results(program: Dataflow) -> Dataflow:
    """Return the program whose scans give combinations of results in place of more results."""
    values, users = program.values, _users(program)
    made: dict[Ref, list[Ref]] = {}  # the rows that each scan gives from now on
    for scan in (row for row, value in enumerate(values) if isinstance(value, Scan)):
        for results, inside in _connected(values, _inside(values, scan)):
            ends = sorted(row for row in inside if not users[row] <= inside)
            spared = [row for row in results if users[row] <= inside]
            if len(ends) < len(spared):
                made.setdefault(scan, []).extend(ends)
    return _giving(program, made) if made else program


def _users(program: Dataflow) -> Mapping[Ref, set[Ref]]:
    """Return the rows that read each row; statements read as row -1."""
    users: dict[Ref, set[Ref]] = {row: set() for row in range(len(program.values))}
    for row, value in enumerate(program.values):
        for each in value.operands:
            users[each].add(row)
    for statement in program.statements:
        for store in statement.stores:
            users[store.value].add(-1)
    return users


def _inside(values: Sequence[Value], scan: Ref) -> Mapping[Ref, frozenset[Ref]]:
    """Return rows that are made of results of a scan and numbers alone, with these results."""
    found: dict[Ref, frozenset[Ref]] = {}
    for row, value in enumerate(values):
        if isinstance(value, Literal):
            found[row] = frozenset()
        elif isinstance(value, Result) and value.scan == scan:
            found[row] = frozenset((row,))
        elif isinstance(value, Map) and is_float(value) and all(a in found for a in value.args):
            found[row] = frozenset[Ref]().union(*(found[each] for each in value.args))
    return {row: results for row, results in found.items() if results}


def _connected(
    values: Sequence[Value], made_of: Mapping[Ref, frozenset[Ref]]
) -> list[tuple[frozenset[Ref], set[Ref]]]:
    """Return results that are combined with each other, and the rows that combine them."""
    groups: list[tuple[frozenset[Ref], set[Ref]]] = []
    for row, results in made_of.items():
        near = [each for each in groups if not each[0].isdisjoint(results)]
        groups = [each for each in groups if each not in near]
        rows = {row} if isinstance(values[row], Map) else set()
        groups.append(
            (results.union(*(each[0] for each in near)), rows.union(*(each[1] for each in near)))
        )
    return groups


def _giving(program: Dataflow, made: Mapping[Ref, Sequence[Ref]]) -> Dataflow:
    """Return the program whose scans give some rows as results, after their own."""
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    given = {row: (scan, place) for scan, ends in made.items() for place, row in enumerate(ends)}
    own = {row: len(each.init) for row, each in enumerate(program.values) if isinstance(each, Scan)}
    for row, value in enumerate(program.values):
        new = with_operands(value, rows.__getitem__)
        if row in given:
            scan, place = given[row]
            index = own[scan] + place
            new = Result(scan=rows[scan], index=index, dims=value.dims, dtype=value.dtype)
        elif isinstance(new, Scan) and row in made:
            zeros = (Rows(graph).literal(0.0, program.values[end].dtype) for end in made[row])
            body = _body(program.values, row, new.body, made[row])
            new = classes.evolve(new, body=body, init=(*new.init, *zeros))
        rows[row] = graph.add(new)
    return with_values(program, graph, rows.__getitem__)


def _body(values: Sequence[Value], scan: Ref, body: Body, ends: Sequence[Ref]) -> Body:
    """Return the body of a scan that also gives the rows `ends`, made of its results."""
    graph = Graph()
    for value in body.values:
        graph.add(value)  # each is new, so the place of a row stays
    found: dict[Ref, Ref] = {}
    for row in reachable(tuple(values), ends):
        value = values[row]
        if isinstance(value, Result) and value.scan == scan:
            found[row] = body.results[value.index]
        elif isinstance(value, Map | Literal) and all(each in found for each in value.operands):
            found[row] = graph.add(classes.evolve(with_operands(value, found.__getitem__), dims=()))
    return body_of(graph, (*body.results, *(found[each] for each in ends)))
