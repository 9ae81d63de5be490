"""Leave out the states of scans on which nothing depends that is read.

The forward sweep of a solver hands on two numbers, of which the adjoint of its right-hand side
needs one. The other is a state that only itself depends on.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...runtime.process import classes
from ..ir.dataflow import Body, Dataflow, Ref, Result, Scalar, Scan
from ..lower.graph import Graph
from ..lower.rewrite import reachable, with_operands, with_values
from ..lower.scans import trimmed


def with_live_states(program: Dataflow) -> Dataflow:
    """Return the program without states of scans on which no result that is read depends."""
    read: dict[Ref, list[int]] = {}
    for value in program.values:
        if isinstance(value, Result):
            read.setdefault(value.scan, []).append(value.index)
    scans = ((row, value) for row, value in enumerate(program.values) if isinstance(value, Scan))
    live = {row: _live(scan.body, read.get(row, (0,))) for row, scan in scans}
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    for row, value in enumerate(program.values):
        made = with_operands(value, rows.__getitem__)
        if isinstance(made, Scan):
            made = _with_states(made, live[row])
        elif isinstance(value, Result) and value.scan in live:
            index = live[value.scan].index(value.index)
            made = classes.evolve(value, scan=rows[value.scan], index=index)
        rows[row] = graph.add(made)
    return with_values(program, graph, rows.__getitem__)


def _live(body: Body, read: Iterable[int]) -> tuple[int, ...]:
    """Return the states that some results depend on."""
    found, waiting = set[int](), {*read}
    while waiting:
        found |= waiting
        rows = reachable(body.values, (body.results[each] for each in waiting))
        leaves = (value for row in rows if isinstance(value := body.values[row], Scalar))
        waiting = {int(leaf.name[1:]) for leaf in leaves if leaf.name[0] == "s"} - found
    return tuple(sorted(found))


def _with_states(scan: Scan, kept: tuple[int, ...]) -> Scan:
    """Return a scan with some of its states."""
    if len(kept) == len(scan.init):
        return scan
    names = {f"s{old}": f"s{new}" for new, old in enumerate(kept)}
    results = [scan.body.results[each] for each in kept]
    graph = Graph()
    rows: dict[Ref, Ref] = {}
    for row in reachable(scan.body.values, results):
        value = with_operands(scan.body.values[row], rows.__getitem__)
        if isinstance(value, Scalar):
            value = classes.evolve(value, name=names.get(value.name, value.name))
        rows[row] = graph.add(value)
    body, args = trimmed(
        Body(tuple(graph.values), tuple(map(rows.__getitem__, results))), scan.args
    )
    init, dtype = tuple(scan.init[each] for each in kept), body.values[body.results[0]].dtype
    return classes.evolve(scan, dtype=dtype, body=body, init=init, args=args)
