from fieldforge.stages.lower.graph import Graph

from .trees import I, J, K


def test_spellings_of_one_number_are_one_row():
    graph = Graph()

    assert graph.literal("float32", "0.10000000149011612") == graph.literal("float32", "0.1")
    assert graph.literal("float64", "0.10") != graph.literal("float32", "0.1")
    assert graph.literal("float64", "0.0") != graph.literal("float64", "-0.0")


def test_dimensions_are_the_canonical_union_of_the_operands():
    graph = Graph()
    level, plane = graph.input("a", (K,), "float64"), graph.input("b", (I, J), "float64")

    assert graph[graph.map("lt", (level, plane))].dims == (I, J, K)


def test_shifts_along_one_dimension_add_up_and_vanish():
    graph = Graph()
    u = graph.input("u", (I, J), "float64")

    assert graph.shift(graph.shift(u, I, 2), I, -2) == u
    assert graph.shift(u, K, 5) == u
    assert graph.shift(graph.shift(u, I, 1), I, 2) == graph.shift(u, I, 3)
