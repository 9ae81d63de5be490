"""The mesh: Euler's formula, tables that agree with each other, geometry that closes the sphere."""

import numpy as np
import pytest

from fieldforge.examples import mesh_geometry as geometry
from fieldforge.examples.icosahedral import OFFSETS, icosahedral

MESHES = [(1, 0, "curve"), (3, 0, "breadth-first"), (2, 2, "curve"), (5, 1, "shuffled")]


@pytest.fixture(params=MESHES, ids=lambda each: "R{}B{}-{}".format(*each))
def mesh(request):
    return icosahedral(*request.param)


def own(mesh, table):
    """The number of each row, to compare with entries of two tables one after the other."""
    return np.arange(len(mesh.tables[table]))[:, None, None]


@pytest.mark.parametrize(("root", "bisections"), [(1, 0), (1, 2), (2, 1), (3, 1), (7, 0)])
def test_counts_follow_the_name_and_euler(root, bisections):
    mesh = icosahedral(root, bisections)

    assert mesh.cells == 20 * root**2 * 4**bisections
    assert mesh.edges == 30 * root**2 * 4**bisections
    assert mesh.cells - mesh.edges + mesh.vertices == 2


def test_every_point_lies_on_the_sphere_and_none_twice(mesh):
    for points in (mesh.cell_points, mesh.edge_points, mesh.vertex_points):
        np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, rtol=1e-14)
        assert len(np.unique(points.round(9), axis=0)) == len(points)


@pytest.mark.parametrize(
    ("there", "back"), [("C2E", "E2C"), ("C2V", "V2C"), ("E2V", "V2E"), ("C2E2C", "C2E2C")]
)
def test_who_is_my_neighbour_has_me_as_one(mesh, there, back):
    entries = mesh.tables[back][mesh.tables[there]]

    assert ((entries == own(mesh, there)).sum(axis=2) == 1).all()


def test_only_the_twelve_pentagons_lack_a_neighbour(mesh):
    for offset in OFFSETS:
        missing = mesh.tables[offset.value] < 0
        if offset.value in ("V2E", "V2C"):
            assert missing.sum() == 12
            assert missing[:, 5].sum() == 12
        else:
            assert not missing.any()


def test_an_edge_of_a_cell_joins_its_vertex_and_the_next(mesh):
    ends = np.sort(mesh.tables["E2V"][mesh.tables["C2E"]], axis=2)
    vertices = mesh.tables["C2V"]

    assert np.array_equal(ends, np.sort(np.stack([vertices, np.roll(vertices, -1, 1)], 2), axis=2))


def test_the_neighbour_in_column_k_lies_beyond_edge_k(mesh):
    cells = mesh.tables["E2C"][mesh.tables["C2E"]]

    assert (cells == mesh.tables["C2E2C"][:, :, None]).any(axis=2).all()
    assert (mesh.tables["C2E2CO"][:, 0] == np.arange(mesh.cells)).all()
    assert np.array_equal(mesh.tables["C2E2CO"][:, 1:], mesh.tables["C2E2C"])


def test_a_diamond_is_an_edge_and_the_far_vertices_of_its_cells(mesh):
    diamond, cells = mesh.tables["E2C2V"], mesh.tables["C2V"][mesh.tables["E2C"]]

    assert np.array_equal(diamond[:, :2], mesh.tables["E2V"])
    for side in (0, 1):
        of_cell = np.sort(np.column_stack([diamond[:, :2], diamond[:, 2 + side]]), axis=1)
        assert np.array_equal(of_cell, np.sort(cells[:, side], axis=1))


def test_the_rim_of_a_diamond_is_its_cells_without_the_edge(mesh):
    edges = np.arange(mesh.edges)[:, None]
    rim = np.sort(np.concatenate([mesh.tables["E2C2E"], edges, edges], axis=1), axis=1)

    of_cells = mesh.tables["C2E"][mesh.tables["E2C"]].reshape(-1, 6)
    assert np.array_equal(rim, np.sort(of_cells, axis=1))


def test_neighbours_of_a_vertex_go_round_counter_clockwise(mesh):
    for table, points in (("V2E", mesh.edge_points), ("V2C", mesh.cell_points)):
        around = mesh.tables[table]
        for n in range(5):
            last = (around[:, n + 1] < 0) if n == 4 else np.zeros(mesh.vertices, bool)
            after = np.where(last, around[:, 0], around[:, n + 1])
            turn = np.linalg.det(
                np.stack([mesh.vertex_points, points[around[:, n]], points[after]], axis=1)
            )
            assert (turn > 0).all()


def test_normals_point_from_the_first_cell_to_the_second(mesh):
    first, second = np.moveaxis(mesh.cell_points[mesh.tables["E2C"]], 1, 0)

    assert (((second - first) * geometry.normals(mesh)).sum(1) > 0).all()


def test_areas_add_up_to_the_sphere(mesh):
    for areas in (geometry.cell_areas(mesh), geometry.dual_areas(mesh)):
        assert (areas > 0).all()
        np.testing.assert_allclose(areas.sum(), 4 * np.pi, rtol=1e-12)


def test_the_divergence_of_any_flow_sums_to_nothing(mesh):
    flow = np.random.default_rng(3).normal(size=mesh.edges)
    div = (geometry.divergence(mesh) * flow[mesh.tables["C2E"]]).sum(1)

    total = (div * geometry.cell_areas(mesh)).sum()

    assert abs(total) < 1e-12 * np.abs(div * geometry.cell_areas(mesh)).sum()


def test_the_curl_of_a_rotation_is_twice_its_rate():
    mesh = icosahedral(4, 2)
    axis = np.array([0.3, -0.5, 0.8])
    normal_wind = (np.cross(axis, mesh.edge_points) * geometry.normals(mesh)).sum(1)

    curl = (geometry.along_dual(mesh) * normal_wind[mesh.tables["V2E"]]).sum(1)

    np.testing.assert_allclose(curl, 2 * mesh.vertex_points @ axis, atol=0.02)


def distance(table):
    rows = np.arange(len(table))[:, None] / len(table)
    return np.abs(table / (table.max() + 1) - rows)[table >= 0].mean()


def test_both_orders_bring_neighbours_near():
    shuffled = icosahedral(4, 3, "shuffled")
    for order in ("curve", "breadth-first"):
        ordered = icosahedral(4, 3, order)
        for name in ("C2E", "E2V", "V2E", "C2E2C", "E2C2V"):
            assert distance(ordered.tables[name]) < 0.1 * distance(shuffled.tables[name])


def test_all_orders_number_the_same_mesh():
    a, b = icosahedral(3, 1, "curve"), icosahedral(3, 1, "shuffled", seed=4)

    for points in ("cell_points", "edge_points", "vertex_points"):
        first, second = (np.unique(getattr(each, points).round(9), axis=0) for each in (a, b))
        assert np.array_equal(first, second)


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match="'curve', 'breadth-first' or 'shuffled'"):
        icosahedral(1, 0, "random")
