"""Scans in compiled code: the state in registers or beside the columns, results where they go."""

from typing import Any

import numpy as np
import pytest

from fieldforge.stages.ir.bounds import add
from fieldforge.stages.ir.dataflow import Body, Bound, DomainSymbol, Range, Side
from fieldforge.stages.lower.graph import Graph

from .grids import C, I, J, K, Native, make, units
from .programs import REAL, whole

pytestmark = pytest.mark.needs_compiler
RNG = np.random.default_rng(9)
LEVELS: tuple[Bound, Bound] = (DomainSymbol("start", "out", K), DomainSymbol("stop", "out", K))


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape)


def recurrence() -> Body:
    """Return (s0 * a0 + s1, s0): the state changes places, so it must advance all at once."""
    body = Graph()
    s0, s1, a0 = body.scalar("s0", REAL), body.scalar("s1", REAL), body.scalar("a0", REAL)
    new = body.map("add", (body.map("mul", (s0, a0)), s1))
    return Body(tuple(body.values), (new, s0))


def walk(a: np.ndarray[Any, Any], forward: bool) -> tuple[np.ndarray[Any, Any], ...]:
    """Run the recurrence along the last axis."""
    first, second = np.zeros_like(a), np.zeros_like(a)
    s0, s1 = np.ones(a.shape[:-1]), np.full(a.shape[:-1], 0.5)
    for k in range(a.shape[-1]) if forward else reversed(range(a.shape[-1])):
        s0, s1 = s0 * a[..., k] + s1, s0
        first[..., k], second[..., k] = s0, s1
    return first, second


def scanned(graph: Graph, arg: int, forward: bool = True) -> tuple[int, ...]:
    init = (graph.literal(REAL, "1.0"), graph.literal(REAL, "0.5"))
    return graph.scan(recurrence(), init, (arg,), K, forward, LEVELS)


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("dim", [I, J, K, None])
def test_columns_are_walked_both_ways_in_any_layout(dim: Any, forward: bool) -> None:
    graph = Graph()
    both = scanned(graph, graph.input("u", (I, J, K), REAL), forward)
    dims = (I, J, K)
    fields = [(name, REAL, dims) for name in ("u", "out", "other")]
    box = whole("out", dims)
    lowered = make(graph, fields, [("out", box, both[0]), ("other", box, both[1])])
    runner = Native(lowered, units(lowered, dim), parallel_from=1)
    axis = 2 if dim is None else dims.index(dim)
    u, out, other = (
        np.moveaxis(np.zeros(np.moveaxis(np.empty((5, 4, 6)), axis, -1).shape), -1, axis)
        for _ in range(3)
    )
    u[...] = numbers(5, 4, 6)

    runner(u, out, other)

    expected = walk(u, forward)
    np.testing.assert_array_equal(out, expected[0])
    np.testing.assert_array_equal(other, expected[1])
    beside = dim is not K  # an unknown layout is taken for that of our allocators
    assert ("walks columns side by side" in runner.loops) == beside
    assert runner.loops.count("  tile @") == (2 if beside else 0)


@pytest.mark.parametrize("dim", [I, K])
def test_a_field_that_a_scan_reads_is_updated_in_place(dim: Any) -> None:
    graph = Graph()
    u = graph.input("u", (I, J, K), REAL)
    below = graph.region(((Side(K, None, LEVELS[0]),),), u, u)
    results = scanned(graph, graph.map("add", (u, graph.shift(below, K, 1))))
    box = tuple(
        Range(each.dim, each.start, DomainSymbol("stop", "out", each.dim))
        for each in whole("u", (I, J, K))
    )
    fields = [("u", REAL, (I, J, K)), ("out", REAL, (I, J, K))]
    graph_value = results[0]
    lowered = make(graph, fields, [("u", box, graph_value), ("out", box, results[1])])
    u_, out = numbers(4, 5, 7), np.zeros((4, 5, 6))
    if dim is I:
        u_, out = np.asfortranarray(u_), np.asfortranarray(out)
    expected = walk(u_[..., :6] + u_[..., 1:], True)

    Native(lowered, units(lowered, dim), parallel_from=1)(u_, out)

    np.testing.assert_array_equal(u_[..., :6], expected[0])
    np.testing.assert_array_equal(out, expected[1])


def test_arguments_without_levels_stand_outside_the_loop_over_levels() -> None:
    graph = Graph()
    z = graph.map("exp", (graph.input("z", (C,), REAL),))
    results = scanned(graph, z)
    fields = [("z", REAL, (C,)), ("out", REAL, (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), results[0])])
    loops = Native(lowered, units(lowered, K)).loops
    assert loops.index(" exp %") < loops.index("sequential K")


def test_a_state_of_many_leaves_is_compiled_in_seconds() -> None:
    body = Graph()
    count = 28
    rows = [body.scalar(f"s{i}", REAL) for i in range(count)] + [body.scalar("a0", REAL)]
    for i in range(800):
        other = rows[(7 * i) % len(rows)]
        rows.append(body.map(("add", "mul", "maximum")[i % 3], (rows[-1], other)))
    graph = Graph()
    init = tuple(graph.literal(REAL, "0.25") for _ in range(count))
    arg = graph.input("u", (C, K), REAL)
    results = graph.scan(
        Body(tuple(body.values), tuple(rows[-count:])), init, (arg,), K, True, LEVELS
    )
    names = [f"o{i}" for i in range(count - 1)]
    fields = [(name, REAL, (C, K)) for name in ("u", "out", *names)]
    box = whole("out", (C, K))
    stores = [(name, box, row) for name, row in zip(("out", *names), results, strict=True)]
    runner = Native(make(graph, fields, stores))
    assert runner.loops.count("nest ") == 1
    assert "arena" not in runner.loops


@pytest.mark.parametrize("forward", [True, False])
def test_a_level_that_a_region_keeps_inside_is_not_clamped(forward: bool) -> None:
    graph = Graph()
    first, _ = scanned(graph, graph.input("u", (I, J, K), REAL), forward)
    there = ((Side(K, add(LEVELS[0], 1), None),),)
    below = graph.region(there, graph.shift(first, K, -1), graph.literal(REAL, "0.0"))
    fields = [(name, REAL, (I, J, K)) for name in ("u", "out")]
    box = whole("out", (I, J, K))
    lowered = make(graph, fields, [("out", box, graph.map("sub", (first, below)))])
    runner = Native(lowered, units(lowered, I), parallel_from=1)
    u, out = numbers(6, 4, 5).T, np.zeros((6, 4, 5)).T

    runner(u, out)

    expected = walk(u, forward)[0]
    expected[..., 1:] -= expected[..., :-1].copy()
    np.testing.assert_array_equal(out, expected)
    assert "@" in runner.loops
    assert "moved" not in runner.loops
