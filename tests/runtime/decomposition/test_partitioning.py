"""Points shared among ranks: evenly, the same each time, and with few cut links."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.examples.icosahedral import Cell, icosahedral
from fieldforge.runtime.decomposition.mesh import check, decompose
from fieldforge.runtime.decomposition.partitioning import Graph, cuthill_mckee, has_metis, partition

MESH = icosahedral(2, 2)
LINKS = MESH.connectivities()["E2C"]
NEEDS_METIS = pytest.mark.skipif(not has_metis(), reason="the extra 'metis' is not installed")
METHODS = ["bisection", "order", pytest.param("metis", marks=NEEDS_METIS)]


def cut_links(owners):
    ends = MESH.tables["E2C"]
    return int((owners[ends[:, 0]] != owners[ends[:, 1]]).sum())


@pytest.mark.parametrize("ranks", [1, 2, 5, 8])
@pytest.mark.parametrize("method", METHODS)
def test_points_are_shared_evenly_and_the_same_each_time(method, ranks):
    owners = partition(LINKS, ranks, coordinates=MESH.cell_points, method=method)

    counts = np.bincount(owners, minlength=ranks)
    assert len(owners) == MESH.cells
    assert counts.max() - counts.min() <= 0.06 * MESH.cells / ranks + 3
    again = partition(LINKS, ranks, coordinates=MESH.cell_points, method=method)
    assert np.array_equal(owners, again)


@pytest.mark.parametrize("method", METHODS)
def test_few_links_are_cut(method):
    owners = partition(LINKS, 8, coordinates=MESH.cell_points, method=method)
    at_random = np.random.default_rng(0).permutation(np.arange(MESH.cells) % 8)

    assert cut_links(owners) < 0.25 * cut_links(at_random)


@NEEDS_METIS
def test_metis_cuts_no_more_links_than_bisection():
    by_metis = partition(LINKS, 8, method="metis")

    assert cut_links(by_metis) <= cut_links(
        partition(LINKS, 8, coordinates=MESH.cell_points, method="bisection")
    )


@pytest.mark.parametrize("method", METHODS)
def test_more_ranks_than_points_leave_some_without_any(method):
    line = ff.as_connectivity(LINKS.domain.dims, Cell, [[0, 1], [1, 2]])

    owners = partition(line, 5, coordinates=np.arange(3.0)[:, None], method=method)

    assert len(set(owners.tolist())) == 3
    assert owners.max() < 5


@pytest.mark.parametrize("method", METHODS)
def test_meshes_are_cut_by_every_method(method):
    owners = partition(LINKS, 6, coordinates=MESH.cell_points, method=method)

    check(decompose(MESH.connectivities(), Cell, owners, attached=["E2C", "V2C"], halo=1, ranks=6))


def test_an_order_of_neighbours_brings_them_near():
    ring = np.stack([np.arange(100), (np.arange(100) + 1) % 100], axis=1)
    mixed = np.random.default_rng(1).permutation(100)[ring]

    places = np.empty(100, int)
    places[cuthill_mckee(Graph.of(mixed))] = np.arange(100)

    assert np.abs(np.diff(places[mixed], axis=1)).max() == 2


def test_points_that_nothing_links_are_kept():
    order = cuthill_mckee(Graph.of(np.array([[0, 1], [3, 4], [5, 5], [2, -1]])))

    assert sorted(order.tolist()) == [0, 1, 2, 3, 4, 5]


def test_what_a_method_lacks_is_named():
    with pytest.raises(ArgumentError, match="'bisection' needs 'coordinates'"):
        partition(LINKS, 2, method="bisection")
    with pytest.raises(ArgumentError, match="got 'magic'"):
        partition(LINKS, 2, method="magic")
