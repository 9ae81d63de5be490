"""The adjoint of a scan: a scan over the same levels in the other direction.

At a level it gets the adjoint of the state there, which is that of the result and what the level
after it hands back, and gives the adjoints of the arguments and of the state before. Partial
derivatives are taken at the arguments and at the state before, which the forward scan has computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...runtime.process import classes
from ..ir.dataflow import Body, Map, Ref, Result, Scalar, Scan, Side, add
from ..lower.graph import Graph
from ..lower.scans import body_of, trimmed
from .activity import active_in_body
from .joining import sides_of
from .parts import Part, extended, plain, unsigned
from .rows import Rows
from .splitting import Split, late
from .sweep import Sweep, not_yet


def reversed_scan(
    sweep: Sweep, row: Ref, scan: Scan, leaves: frozenset[int], results: Mapping[int, Part]
) -> Body:
    """Add the adjoint of a scan, and hand the adjoints of its arguments on; return its body.

    `leaves` are those of the state that vary, `results` the adjoints of results.
    """
    if any(each in sweep.active for each in scan.init):
        raise not_yet("starts a scan with a value that varies")
    assert sweep.boxes is not None  # scans do not stand in bodies
    box = sides_of(sweep.boxes[row])
    args = frozenset(i for i, arg in enumerate(scan.args) if arg in sweep.active)
    given = {
        index: (plain if part.box == box and part.need is None else extended)(sweep.rows, part)
        for index, part in sorted(results.items())
    }
    count = len(scan.args)
    body, carried, outputs = _body(scan.body, leaves, args, tuple(given), count)
    if _reads_states(body, count, len(scan.init)):  # then the scan runs again, and gives results
        body, carried, outputs = _body(scan.body, leaves, args, tuple(given), count, known=True)
    before = [_before(sweep.rows.graph, row, scan, index) for index in range(len(scan.init))]
    after = [_result(sweep.rows.graph, row, scan, index) for index in range(len(scan.init))]
    every = (*scan.args, *before, *after, *given.values())
    split = Split.of(body, carried, late(sweep.rows.graph, every, not scan.forward))
    body, kept = trimmed(split.body, every)
    zeros = tuple(sweep.rows.literal(0.0, body.values[ref].dtype) for ref in body.results)
    made = sweep.rows.graph.scan(
        body, zeros, kept, scan.axis, not scan.forward, (scan.start, scan.stop)
    )
    found = split.outputs(sweep.rows.graph, carried, made, every)
    for index, result in zip(outputs, found, strict=True):
        sweep.give(scan.args[index], unsigned(sweep.rows, Part(result, box)), scan.dims)
    return body


def _reads_states(body: Body, count: int, leaves: int) -> bool:
    """Tell whether a body reads the state before each level."""
    names = {f"a{count + index}" for index in range(leaves)}
    return any(isinstance(value, Scalar) and value.name in names for value in body.values)


def _result(graph: Graph, row: Ref, scan: Scan, index: int) -> Ref:
    dtype = graph[scan.init[index]].dtype
    return graph.add(Result(scan=row, index=index, dims=scan.dims, dtype=dtype))


def _before(graph: Graph, row: Ref, scan: Scan, index: int) -> Ref:
    """Return the state before each level: the first state, then the result of the level before."""
    first = scan.init[index]
    result = _result(graph, row, scan, index)
    if scan.forward:
        level = Side(scan.axis, scan.start, add(scan.start, 1))
    else:
        level = Side(scan.axis, add(scan.stop, -1), scan.stop)
    shifted = graph.shift(result, scan.axis, -1 if scan.forward else 1)
    return graph.region(((level,),), first, shifted)


def _body(
    body: Body,
    leaves: frozenset[int],
    args: frozenset[int],
    given: Sequence[int],
    count: int,
    known: bool = False,
) -> tuple[Body, int, tuple[int, ...]]:
    """Return the body of the adjoint, how many leaves it carries, and the arguments that follow.

    Its arguments are those of the scan, as many as `count`, the state before, the state after, and
    the adjoints of the results `given`. With `known` it takes the state after from there, and does
    not compute it again.
    """
    active = active_in_body(body, leaves, args)
    names = {f"s{index}": f"a{count + index}" for index in range(len(body.results))}
    width = len(body.results)
    after = {row: count + width + index for index, row in enumerate(body.results)}
    graph = Graph()
    for row, value in enumerate(body.values):
        if isinstance(value, Scalar):
            value = classes.evolve(value, name=names.get(value.name, value.name))  # noqa: PLW2901
        elif known and row in after and isinstance(value, Map):
            value = Scalar(name=f"a{after[row]}", dims=(), dtype=value.dtype)  # noqa: PLW2901
        graph.add(value)  # each is new, so the place of a row stays
    sweep = Sweep(body.values, active, None, Rows(graph))
    order = tuple(sorted(leaves))
    for place, index in reversed(list(enumerate(order))):
        dtype = body.values[body.results[index]].dtype
        later = graph.scalar(f"s{place}", dtype)
        if index in given:
            own = graph.scalar(f"a{count + 2 * width + given.index(index)}", dtype)
            later = sweep.rows.apply("add", own, later)
        sweep.give(body.results[index], Part(later), ())
    for row in reversed(range(len(body.values))):
        value = body.values[row]
        part = sweep.total(row) if isinstance(value, Map) else None
        if part is not None and isinstance(value, Map):
            sweep.map(row, value, part)
    found = {
        value.name: extended(sweep.rows, part)
        for row, value in enumerate(body.values)
        if isinstance(value, Scalar) and (part := sweep.total(row)) is not None
    }
    dtypes = {index: body.values[body.results[index]].dtype for index in order}
    carried = [found.get(f"s{index}", sweep.rows.literal(0.0, dtypes[index])) for index in order]
    outputs = tuple(index for index in sorted(args) if f"a{index}" in found)
    results = (*carried, *(found[f"a{index}"] for index in outputs))
    return body_of(graph, results), len(carried), outputs
