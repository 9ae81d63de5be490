"""Heat in a quarter of a ring approaches the temperatures that are known, with both boundaries."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import heat_on_triangles
from fieldforge.examples.heat_on_triangles import Ring, Vertex, temperatures


@pytest.fixture(scope="module")
def ring():
    return Ring.of(arcs=5, spokes=9)


@pytest.mark.parametrize("backend", [None, ff.reference, ff.cpu])
def test_all_executions_agree(ring, backend):
    np.testing.assert_allclose(
        temperatures(ring, 3, backend), temperatures(ring, 3), rtol=1e-13, atol=1e-15
    )


def test_the_error_of_the_steady_state_is_of_second_order():
    errors = []
    for arcs in (3, 5, 9):
        ring = Ring.of(arcs, 2 * arcs - 1)
        errors.append(abs(temperatures(ring, 40 * arcs**2) - ring.steady()).max())
    assert errors[0] > 3.3 * errors[1] > 3.3**2 * errors[2]


def test_the_arcs_are_held_and_nothing_leaves_through_the_sides(ring):
    now, held = temperatures(ring, 5), ring.is_held.asnumpy()
    assert (now[held] == ring.first().asnumpy()[held]).all()
    by_arc = now.reshape(5, 9)
    np.testing.assert_allclose(by_arc[:, 0], by_arc[:, -1], atol=0.02)


def test_it_writes_a_mesh_with_its_field_and_a_picture(tmp_path, monkeypatch):
    xarray = pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")
    matplotlib = pytest.importorskip("matplotlib", reason="the extra 'demo' is not installed")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)

    heat_on_triangles.main()

    with xarray.open_dataset("heat.nc") as data:
        assert data["t"].attrs["location"] == "node"
        again = ff.from_xarray(data["t"], Vertex)
    assert again.domain == ff.domain({Vertex: 17 * 33})
    assert ff.read_mesh("heat.nc").sizes["V"] == 17 * 33
    assert (tmp_path / "heat.png").stat().st_size > 5000
