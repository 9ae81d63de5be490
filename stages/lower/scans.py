"""Find the scans that operators reach, and make and trim the bodies of scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir import syntax
from ..ir.dataflow import Body, Bound, Map, Ref, Result, Scalar, Scan, Side, maximum, minimum
from .graph import Graph
from .rewrite import reachable, with_operands

Walked: TypeAlias = Mapping[str, frozenset[Dimension]]  # the axes of scans, by key of an operator


def body_of(graph: Graph, results: tuple[Ref, ...]) -> Body:
    """Return the rows that the next state depends on, as a body."""
    kept = Graph()
    rows: dict[Ref, Ref] = {}
    for row in reachable(tuple(graph.values), results):
        rows[row] = kept.add(with_operands(graph[row], rows.__getitem__))
    return Body(tuple(kept.values), tuple(rows[each] for each in results))


def trimmed(body: Body, args: tuple[Ref, ...]) -> tuple[Body, tuple[Ref, ...]]:
    """Return a body and its arguments without unused and duplicate arguments."""
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
            rows.append(graph.add(classes.evolve(value, name=names.get(value.name, value.name))))
        else:
            rows.append(graph.add(with_operands(value, rows.__getitem__)))
    return Body(tuple(graph.values), tuple(rows[each] for each in body.results)), tuple(places)


def on_levels_of(graph: Graph, box: Sequence[Side], row: Ref) -> Ref:
    """Return a branch of `concat_where`: a result of a scan, computed on the branch's box only.

    For a select by a scalar, both results are restricted to the box.
    """
    match graph[row] if row >= 0 else None:
        case Result() as result:
            scan = graph[result.scan]
            assert isinstance(scan, Scan)
            levels = _met(scan, box)
            if levels == (scan.start, scan.stop):
                return row
            walked = graph.scan(scan.body, scan.init, scan.args, scan.axis, scan.forward, levels)
            return walked[result.index]
        case Map(op="select", args=(condition, then, otherwise)) if not graph[condition].dims:
            branches = (on_levels_of(graph, box, each) for each in (then, otherwise))
            return graph.map("select", (condition, *branches))
    return row


def _met(scan: Scan, box: Sequence[Side]) -> tuple[Bound, Bound]:
    """Return the levels of a scan that lie in a box; an empty range if there are none."""
    start, stop = scan.start, scan.stop
    for side in box:
        if side.dim is scan.axis:
            if side.start is not None:
                start = minimum(maximum(start, side.start), stop)
            if side.stop is not None:
                stop = maximum(minimum(stop, side.stop), start)
    return start, stop


def walked_by(operators: Mapping[str, syntax.Callee]) -> Walked:
    """Return the axes of the scans that each operator is or reaches, by key."""
    callers: dict[str, list[str]] = {key: [] for key in operators}
    found: dict[str, set[Dimension]] = {key: set() for key in operators}
    changed: list[str] = []
    for key, callee in operators.items():
        if isinstance(callee, syntax.Scan):
            found[key].add(callee.axis)
            changed.append(key)
        for node in callee.nodes:
            if isinstance(node, syntax.CallOf):
                callers[node.callee].append(key)
    while changed:
        key = changed.pop()
        for caller in callers[key]:
            if not found[key] <= found[caller]:
                found[caller] |= found[key]
                changed.append(caller)
    return {key: frozenset(axes) for key, axes in found.items()}


def axes_of(callee: syntax.Callee, walked: Walked) -> frozenset[Dimension]:
    """Return the axes of the scans that an operator is or reaches."""
    found: frozenset[Dimension] = frozenset()
    if isinstance(callee, syntax.Scan):
        found |= {callee.axis}
    for node in callee.nodes:
        if isinstance(node, syntax.CallOf):
            found |= walked[node.callee]
    return found
