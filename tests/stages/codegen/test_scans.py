"""Scans in compiled code: the state in registers or beside the columns, results where they go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fieldforge.stages.ir.bounds import Bound, DomainSymbol, Range
from fieldforge.stages.ir.dataflow import Body, Side
from fieldforge.stages.lower.graph import Graph

from .grids import C2E, E2C, At, C, E, I, J, K, Native, make, random_table, table_of, units
from .programs import REAL, whole

pytestmark = pytest.mark.needs_compiler
RNG = np.random.default_rng(9)
LEVELS: tuple[Bound, Bound] = (DomainSymbol("start", "out", K), DomainSymbol("stop", "out", K))


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape)


def running_sum(dtype: str = REAL) -> Body:
    body = Graph()
    total = body.map("add", (body.scalar("s0", dtype), body.scalar("a0", dtype)))
    return Body(tuple(body.values), (total,))


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


def test_a_scan_restarts_at_the_first_level_that_is_written() -> None:
    graph = Graph()
    (total,) = graph.scan(
        running_sum(),
        (graph.literal(REAL, "0.0"),),
        (graph.input("u", (C, K), REAL),),
        K,
        True,
        LEVELS,
    )
    fields = [("u", REAL, (C, K)), ("out", REAL, (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), total)])
    u, out = numbers(3, 9), np.zeros((3, 4))
    Native(lowered)(u, At(out, (0, 2)))
    np.testing.assert_array_equal(out, np.cumsum(u[:, 2:6], axis=1))


@pytest.mark.parametrize("dim", [I, K])
def test_a_scan_of_a_scan_with_work_before_between_and_after(dim: Any) -> None:
    graph = Graph()
    u, p = graph.input("u", (I, J, K), REAL), graph.input("p", (I, J), REAL)
    first = scanned(graph, graph.map("mul", (u, p)))
    between = graph.map("add", (first[0], graph.shift(u, K, 1)))
    second = scanned(graph, between, forward=False)
    value = graph.map("sub", (second[0], first[1]))
    dims = (I, J, K)
    fields = [("u", REAL, dims), ("p", REAL, (I, J)), ("out", REAL, dims)]
    lowered = make(graph, fields, [("out", whole("out", dims), value)])
    u_, p_, out = numbers(6, 5, 8), numbers(6, 5), np.zeros((6, 5, 7))
    if dim is I:
        u_, p_, out = np.asfortranarray(u_), np.asfortranarray(p_), np.asfortranarray(out)

    Native(lowered, units(lowered, dim), parallel_from=1)(u_, p_, out)

    one, other = walk(u_[..., :7] * p_[..., None], True)
    two, _ = walk(one + u_[..., 1:], False)
    np.testing.assert_array_equal(out, two - other)


def test_a_scan_of_neighbours_gives_values_to_neighbours() -> None:
    graph = Graph()
    e = graph.input("e", (E, K), REAL)
    total = graph.reduce("sum", graph.neighbours(e, C2E), C2E)
    (scan,) = graph.scan(running_sum(), (graph.literal(REAL, "0.0"),), (total,), K, True, LEVELS)
    value = graph.reduce("sum", graph.neighbours(scan, E2C), E2C)
    fields = [("e", REAL, (E, K)), ("out", REAL, (E, K))]
    lowered = make(graph, fields, [("out", whole("out", (E, K)), value)])
    c2e, e2c = random_table(C2E, 20, 30, RNG), random_table(E2C, 30, 20, RNG)
    e_, out = numbers(30, 5), np.zeros((30, 5))

    runner = Native(lowered, units(lowered, K))
    runner(e_, out, C2E=table_of(C2E, c2e), E2C=table_of(E2C, e2c))

    cells = np.cumsum(((0.0 + e_[c2e[:, 0]]) + e_[c2e[:, 1]]) + e_[c2e[:, 2]], axis=1)
    expected = np.zeros((30, 5))
    for k in range(2):
        expected = np.where(e2c[:, k, None] >= 0, expected + cells[e2c[:, k]], expected)
    np.testing.assert_array_equal(out, expected)


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


def test_a_profile_is_scanned_alone_and_repeated_over_columns() -> None:
    graph = Graph()
    p = graph.input("p", (K,), "int32")
    (total,) = graph.scan(
        running_sum("int32"), (graph.literal("int32", "3"),), (p,), K, False, LEVELS
    )
    fields = [("p", "int32", (K,)), ("out", "int32", (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), total)])
    p_, out = RNG.integers(-5, 5, 6).astype("int32"), np.zeros((4, 6), "int32")
    Native(lowered)(p_, out)
    np.testing.assert_array_equal(out, np.tile(3 + np.cumsum(p_[::-1])[::-1], (4, 1)))


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
