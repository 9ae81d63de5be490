"""A mesh in another order: the same neighbours, nearer in memory, and coordinates that follow."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.icosahedral import icosahedral
from fieldforge.runtime.meshes.tables import check
from fieldforge.workflows.commands.mesh_order import nearness


@pytest.fixture(scope="module")
def shuffled():
    sphere = icosahedral(3, 2, "shuffled")
    numbers = np.arange(sphere.vertices)
    return ff.Mesh(dict(sphere.tables), {"V": (numbers, -numbers)})


def test_a_reordered_mesh_has_the_distances_that_doctor_promises(shuffled):
    pytest.importorskip("scipy", reason="the extra 'mesh' is not installed")
    promised = {each.table: each.reordered for each in nearness(shuffled.tables)}

    near = shuffled.reordered()

    check(near.tables)
    assert {each.table: each.now for each in nearness(near.tables)} == pytest.approx(promised)


def test_neighbours_and_coordinates_stay_those_of_the_element(shuffled):
    pytest.importorskip("scipy", reason="the extra 'mesh' is not installed")
    order = shuffled.compact_order()

    near = shuffled.reordered()

    old_numbers = near.points["V"][0]
    np.testing.assert_array_equal(old_numbers, order["V"])
    np.testing.assert_array_equal(near.points["V"][1], -old_numbers)
    here, there = near.tables["C2V"], shuffled.tables["C2V"]
    np.testing.assert_array_equal(old_numbers[here], there[order["C"]])


def test_missing_neighbours_stay_missing_and_other_kinds_keep_their_numbers():
    mesh = ff.Mesh({"E2C": [[0, -1], [1, 0], [-1, 1]]})
    near = mesh.reordered({"C": [1, 0]})
    assert near.tables["E2C"].tolist() == [[1, -1], [0, 1], [-1, 0]]


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 2], [0, 1, 2]])
def test_what_is_no_order_is_refused(order):
    with pytest.raises(ff.errors.InputDataError, match="order of 'C' must hold each index"):
        ff.Mesh({"E2C": [[0, -1], [1, 0]]}).reordered({"C": order})


def test_a_mesh_shows_its_sizes_and_not_its_entries(shuffled):
    assert repr(ff.Mesh({"C2V": [[0, 1, 2]]}, {"V": ([0, 1, 2], [0, 1, 2])})) == (
        "Mesh(1 cells, 3 vertices; tables C2V; coordinates of V)"
    )
    assert len(repr(shuffled)) < 200
    html = ff.Mesh({"E2C": [[0, -1]]})._repr_html_()
    assert "<td>E2C</td><td>1</td><td>2</td><td>1</td>" in html
