"""Regions in compiled code: each branch is computed, and read, on its own part only."""

from typing import Any

import numpy as np
import pytest

from fieldforge.runtime.process.errors import DomainError
from fieldforge.stages.ir.dataflow import Bound, Const, ScalarSymbol, Side, add
from fieldforge.stages.lower.graph import Graph

from .grids import C2E, At, C, E, K, Native, make, random_table, table_of, units
from .programs import REAL, whole

pytestmark = pytest.mark.needs_compiler
RNG = np.random.default_rng(5)
NC, NE, NK = 12, 20, 9
N = ScalarSymbol("n")


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape)


def levels(start: Bound | None, stop: Bound | None) -> tuple[tuple[Side, ...], ...]:
    return ((Side(K, start, stop),),)


def at_level(bound: Bound) -> tuple[tuple[Side, ...], ...]:
    return levels(bound, add(bound, 1))


def program(graph: Graph, value: int, *names: str, dim: Any = K, **options: Any) -> Native:
    fields = [(name, REAL, (C, K)) for name in (*names, "out")]
    lowered = make(graph, [*fields, ("n", "int32", None)], [("out", whole("out", (C, K)), value)])
    return Native(lowered, units(lowered, dim), parallel_from=1, **options)


def test_the_innermost_loop_is_cut_where_a_region_ends() -> None:
    graph = Graph()
    a, b = graph.input("a", (C, K), REAL), graph.input("b", (C, K), REAL)
    runner = program(graph, graph.region(levels(None, N), a, b), "a", "b")
    body = runner.source.partition("nest 0")[2]
    assert body.count("for (s64 l = 0") == 2  # one in each part
    assert "select" not in runner.loops


@pytest.mark.parametrize("n", [-3, 0, 4, NK, NK + 5])
def test_a_branch_is_read_on_its_own_part_only(n: int) -> None:
    graph = Graph()
    a, b = graph.input("a", (C, K), REAL), graph.input("b", (C, K), REAL)
    value = graph.map("mul", (graph.region(levels(None, N), a, b), graph.literal(REAL, "2.0")))
    runner = program(graph, value, "a", "b")
    a_, b_, out = numbers(NC, NK), numbers(NC, NK), np.zeros((NC, NK))
    cut = min(max(n, 0), NK)
    # copies of exactly what is needed: one element beyond would be refused, or be outside
    runner(a_[:, :cut].copy(), At(b_[:, cut:].copy(), (0, cut)), out, n)
    expected = np.concatenate([a_[:, :cut], b_[:, cut:]], axis=1) * 2.0
    np.testing.assert_array_equal(out, expected)
    if 0 < cut < NK:
        with pytest.raises(
            DomainError, match=f"'a' is too small: along 'K' the program reads 0:{n}"
        ):
            runner(a_[:, : cut - 1].copy(), b_, out, n)
        with pytest.raises(DomainError, match=f"reads {n}:{NK}, but 'b' covers {n + 1}:{NK}"):
            runner(a_, At(b_[:, cut + 1 :].copy(), (0, cut + 1)), out, n)


def test_what_does_not_vary_with_the_level_is_read_only_if_a_level_needs_it() -> None:
    graph = Graph()
    a, b = graph.input("a", (C,), REAL), graph.input("b", (C, K), REAL)
    value = graph.region(levels(None, N), graph.map("exp", (a,)), b)
    fields = [("a", REAL, (C,)), ("b", REAL, (C, K)), ("out", REAL, (C, K)), ("n", "int32", None)]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), value)])
    b_, out = numbers(NC, NK), np.zeros((NC, NK))
    for dim in (K, None):
        runner = Native(lowered, units(lowered, dim))
        runner(np.zeros(0), b_, out, 0)
        np.testing.assert_array_equal(out, b_)
        with pytest.raises(DomainError, match="'a' is too small: along 'C'"):
            runner(np.zeros(0), b_, out, 1)
        runner(np.zeros(NC), b_, out, 2)
        np.testing.assert_array_equal(out[:, :2], np.ones((NC, 2)))


@pytest.mark.parametrize("arrays", [(), ("%1",), ("%1", "%4")])
def test_an_array_of_one_branch_is_filled_where_that_branch_is_taken(
    arrays: tuple[str, ...],
) -> None:
    graph = Graph()
    u = graph.input("u", (C, K), REAL)
    double = graph.map("add", (u, u))
    below, above = graph.shift(double, K, -1), graph.shift(double, K, 1)
    inner = graph.map("sub", (above, below))
    value = graph.region(at_level(N), u, inner)
    runner = program(graph, value, "u", arrays=arrays)
    u_, out = numbers(NC, NK + 1), np.zeros((NC, NK))

    runner(u_, out, 0)  # level -1 of 'u' would be needed at level 0 only

    expected = np.zeros((NC, NK))
    expected[:, 1:] = 2 * u_[:, 2:] - 2 * u_[:, :-2]
    expected[:, 0] = u_[:, 0]
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(DomainError, match="the program reads -1:"):
        runner(u_, out, 3)


@pytest.mark.parametrize("n", [0, 7, NE])
def test_a_region_of_neighbours_is_asked_by_their_index(n: int) -> None:
    graph = Graph()
    box = ((Side(E, None, N),),)
    a, b = graph.input("a", (E, K), REAL), graph.input("b", (E, K), REAL)
    value = graph.reduce("sum", graph.neighbours(graph.region(box, a, b), C2E), C2E)
    fields = [("a", REAL, (E, K)), ("b", REAL, (E, K)), ("out", REAL, (C, K)), ("n", "int32", None)]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), value)])
    entries = random_table(C2E, NC, NE, RNG)
    a_, b_, out = numbers(NE, NK), numbers(NE, NK), np.zeros((NC, NK))

    runner = Native(lowered, units(lowered, K))
    runner(a_[:n].copy(), At(b_[n:].copy(), (n, 0)), out, n, C2E=table_of(C2E, entries))

    mixed = np.concatenate([a_[:n], b_[n:]])
    slots = [mixed[entries[:, k]] for k in range(3)]
    np.testing.assert_array_equal(out, ((0.0 + slots[0]) + slots[1]) + slots[2])


def test_a_long_chain_of_regions_stays_small() -> None:
    graph = Graph()
    value = graph.input("u", (C, K), REAL)
    for i in range(60):
        bound = add(ScalarSymbol("n"), i) if i % 3 else Const(i)
        moved = graph.shift(value, K, 1 if i % 2 else -1)
        value = graph.region(levels(bound, None), moved, graph.map("add", (value, moved)))
    runner = program(graph, value, "u")
    assert len(runner.source) < 400_000
    assert len(runner.loops) < 400_000
    assert sum(map(len, runner.plan.ints)) < 50_000
