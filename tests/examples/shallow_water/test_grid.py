"""The grid: centroidal, closed, and TRiSK's weights with the properties that define them."""

import numpy as np
import pytest

from fieldforge.examples.shallow_water.cases import CASES, RADIUS, initial_state
from fieldforge.examples.shallow_water.grid import voronoi_grid
from fieldforge.examples.shallow_water.norms import vorticity
from fieldforge.examples.shallow_water.voronoi import centroids, optimised, quality


@pytest.fixture(scope="module")
def mesh():
    return optimised(level=3)


@pytest.fixture(scope="module")
def grid(mesh):
    return voronoi_grid(mesh, radius=1.0)


def tangential(grid, flux):
    """Return the flux along the dual edges that the weights make of a normal flux."""
    return (grid.weights * flux[grid.tables["E2E2C"]]).sum(1)


def divergence(grid, flux):
    return (grid.out_of_cell * flux[grid.tables["C2E"]]).sum(1) / grid.cell_areas


def test_generators_are_centroids(mesh):
    np.testing.assert_allclose(mesh.vertex_points, centroids(mesh), atol=1e-9)


def test_optimisation_lengthens_the_shortest_edge_and_keeps_the_mesh_uniform(mesh):
    before, after = quality(optimised(level=3, iterations=0)), quality(mesh)

    assert after.shortest_side > before.shortest_side
    assert after.off_middle < before.off_middle
    assert after.uniformity > 0.8


def test_corners_are_as_far_from_all_their_cells(mesh):
    ways = mesh.vertex_points[mesh.tables["C2V"]] - mesh.cell_points[:, None]
    distances = np.linalg.norm(ways, axis=2)

    np.testing.assert_allclose(distances, distances[:, :1] * np.ones(3), rtol=1e-12)


def test_kites_fill_cells_and_triangles(grid):
    of_cells = np.zeros(grid.cells)
    np.add.at(of_cells, grid.tables["V2C"], grid.kites)

    np.testing.assert_allclose(grid.kites.sum(1), grid.vertex_areas, rtol=1e-12)
    np.testing.assert_allclose(of_cells, grid.cell_areas, rtol=1e-12)
    np.testing.assert_allclose(grid.cell_areas.sum(), 4 * np.pi, rtol=1e-12)


def test_weights_do_no_work(grid):
    """The weight from e to e' is minus that from e' to e, so the Coriolis force keeps energy."""
    matrix = np.zeros((grid.edges, grid.edges))
    table = grid.tables["E2E2C"]
    rows = np.broadcast_to(np.arange(grid.edges)[:, None], table.shape)
    np.add.at(matrix, (rows[table >= 0], table[table >= 0]), grid.weights[table >= 0])

    np.testing.assert_allclose(matrix, -matrix.T, atol=1e-13)
    assert np.abs(matrix).max() > 0.2


def test_the_divergence_of_the_tangential_flux_is_the_mean_of_that_of_the_cells(grid):
    flux = np.random.default_rng(5).normal(size=grid.edges)
    along = tangential(grid, flux)
    on_triangles = np.zeros(grid.vertices)
    np.add.at(on_triangles, grid.tables["E2V"], along[:, None] * [1.0, -1.0])

    means = (grid.kites * divergence(grid, flux)[grid.tables["V2C"]]).sum(1)

    np.testing.assert_allclose(on_triangles, means, atol=1e-11)


def test_a_rotation_has_its_tangential_wind_and_twice_its_rate_as_vorticity(grid):
    axis = np.array([0.3, -0.5, 0.8])
    wind = np.cross(axis, grid.edge_points)
    normal = (wind * grid.normals).sum(1)
    along = (wind * np.cross(grid.edge_points, grid.normals)).sum(1)

    made = tangential(grid, grid.edge_lengths * normal) / grid.cell_distances

    np.testing.assert_allclose(made, along, atol=0.02)
    np.testing.assert_allclose(vorticity(grid, normal), 2 * grid.vertex_points @ axis, atol=0.05)


@pytest.mark.parametrize("case", sorted(CASES))
def test_initial_winds_have_no_divergence(mesh, case):
    grid = voronoi_grid(mesh, RADIUS)
    start = initial_state(case, grid)
    flux = grid.edge_lengths * start.u

    sums = divergence(grid, flux) * grid.cell_areas

    assert np.abs(sums).max() < 1e-12 * np.abs(flux).max()
    assert start.h.min() > 0


def test_the_jet_has_its_mean_height_and_its_speed(mesh):
    grid = voronoi_grid(optimised(level=4), RADIUS)
    start = initial_state("galewsky", grid)

    mean = (grid.cell_areas * start.h).sum() / grid.cell_areas.sum()

    assert abs(mean - 10000.0) < 5.0
    assert 70.0 < np.abs(start.u).max() < 80.5


def test_an_unknown_case_is_refused(mesh):
    with pytest.raises(ValueError, match="expected one of 2, 5, 6, galewsky"):
        initial_state("3", voronoi_grid(mesh, RADIUS))
