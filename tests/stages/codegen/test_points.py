from __future__ import annotations

from fieldforge.stages.codegen.points import Points
from fieldforge.stages.lower.graph import Graph

from .programs import REAL, I, J, K, laplacian


def test_equal_stencils_at_other_places_are_one_node() -> None:
    graph = Graph()
    u = graph.input("u", (I, J), REAL)
    here = laplacian(graph, u)
    there = laplacian(graph, graph.shift(graph.shift(u, I, 1), J, -2))
    points = Points(graph.values)
    (index, offsets), (other, moved) = points.at(here), points.at(there)
    assert index == other
    assert (offsets, moved) == ((0, 0), (1, -2))


def test_a_chain_of_shifts_is_one_offset() -> None:
    graph = Graph()
    u = graph.input("u", (I, K), REAL)
    row = graph.shift(graph.shift(graph.shift(u, I, 2), K, 1), I, -3)
    assert Points(graph.values).at(row) == (0, (-1, 1))


def test_what_does_not_vary_along_a_dimension_does_not_move() -> None:
    graph = Graph()
    total = graph.map("add", (graph.input("u", (I, K), REAL), graph.input("p", (K,), REAL)))
    points = Points(graph.values)
    moved = graph.shift(total, I, 5)
    points = Points(graph.values)
    assert [offsets for _, offsets in points.operands(points.at(moved))] == [(5, 0), (0,)]
