from fieldforge.runtime.language.dimension import Dimension, flip_staggered
from fieldforge.stages.codegen.schedule.places import Point
from fieldforge.stages.codegen.schedule.points import Points
from fieldforge.stages.lower.graph import Graph

from ..grids import C2E, C2E_DIM, E2C, C, E
from ..programs import REAL, I, J, K, laplacian


def test_equal_stencils_at_other_places_are_one_node() -> None:
    graph = Graph()
    u = graph.input("u", (I, J), REAL)
    here = laplacian(graph, u)
    there = laplacian(graph, graph.shift(graph.shift(u, I, 1), J, -2))
    points = Points(graph.values)
    (index, offsets), (other, moved) = points.at(here), points.at(there)
    assert index == other
    assert (offsets, moved) == (((0, 0), (0, 0)), ((0, 1), (0, -2)))


def test_a_chain_of_shifts_is_one_offset() -> None:
    graph = Graph()
    u = graph.input("u", (I, K), REAL)
    row = graph.shift(graph.shift(graph.shift(u, I, 2), K, 1), I, -3)
    assert Points(graph.values).at(row) == (0, ((0, -1), (0, 1)))


def test_what_does_not_vary_along_a_dimension_does_not_move() -> None:
    graph = Graph()
    total = graph.map("add", (graph.input("u", (I, K), REAL), graph.input("p", (K,), REAL)))
    points = Points(graph.values)
    moved = graph.shift(total, I, 5)
    points = Points(graph.values)
    assert [offsets for _, offsets in points.operands(points.at(moved))] == [
        ((0, 5), (0, 0)),
        ((0, 0),),
    ]


def test_a_neighbour_is_a_place_of_the_value_itself() -> None:
    graph = Graph()
    e = graph.input("e", (E, K), REAL)
    rows = [graph.gather(e, C2E, 1), graph.local(graph.neighbours(e, C2E), C2E_DIM, 1)]
    rows += [graph.gather(graph.shift(e, K, 2), C2E, 1), graph.gather(e, C2E, 0)]
    points = Points(graph.values, (C2E,))
    (one, same, above, other) = map(points.at, rows)
    assert one == same
    assert above == (one[0], (one[1][0], (0, 2)))
    assert other[0] == one[0]
    assert other[1][0] != one[1][0]
    ((entries, coords),) = points.needed_to_find(one)
    assert points.nodes[entries].dims == (C, C2E_DIM)
    assert coords == ((0, 0), (-1, 1))


def mentioned(points: Points, point: Point) -> dict[Dimension, tuple[int, int]]:
    index, coords = point
    return points.indices.mentioned(list(zip(points.nodes[index].dims, coords, strict=True)))


def test_neighbours_of_neighbours_are_found_through_two_tables() -> None:
    graph = Graph()
    c = graph.input("c", (C, K), REAL)
    row = graph.gather(graph.gather(c, E2C, 0), C2E, 2)
    points = Points(graph.values, (C2E, E2C))
    point = points.at(row)
    assert points.indices.depth(point[1][0][0]) == 2
    assert mentioned(points, point) == {C: (0, 0), K: (0, 0)}
    assert points.indices.unsure(point[1][0][0])


def test_there_and_back_along_a_staggered_dimension_is_no_place_at_all() -> None:
    half = flip_staggered(I)
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    there = graph.shift(u, I, 1, half)
    back = graph.shift(there, half, -1, I)
    points = Points(graph.values)
    assert points.at(back) == points.at(u)
    assert mentioned(points, points.at(there)) == {half: (0, 0)}


def test_a_value_on_cells_that_reads_faces_is_one_node_at_all_places() -> None:
    graph, faces = Graph(), flip_staggered(I)
    c, u = graph.input("c", (faces, J), REAL), graph.input("u", (I, J), REAL)
    rows = [
        graph.map(
            "mul", (graph.map("abs", (graph.shift(c, faces, at, I),)), graph.shift(u, I, at + 1))
        )
        for at in (0, 1, -2)
    ]
    nodes, places = zip(*map(Points(graph.values).at, rows), strict=True)
    assert len(set(nodes)) == 1
    assert [coords[0][1] - places[0][0][1] for coords in places] == [0, 1, -2]
