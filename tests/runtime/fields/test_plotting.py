"""Pictures of fields: what is drawn where."""

import numpy as np
import pytest

import fieldforge as ff

from ...dimensions import I, J, K

matplotlib = pytest.importorskip("matplotlib", reason="the extra 'demo' is not installed")
matplotlib.use("Agg")

V = ff.Dimension("V")


@pytest.fixture(autouse=True)
def closed():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def cells(ax):
    (mesh,) = ax.collections
    return mesh


def test_a_plane_is_drawn_cell_by_cell():
    values = np.arange(6.0).reshape(2, 3)
    ax = ff.as_field(ff.domain({I: (4, 6), J: 3}), values).plot(title="u", units="m", cmap="gray")
    mesh = cells(ax)
    assert mesh.get_coordinates()[0, :, 0].tolist() == [3.5, 4.5, 5.5]
    assert mesh.get_coordinates()[:, 0, 1].tolist() == [-0.5, 0.5, 1.5, 2.5]
    np.testing.assert_array_equal(np.ravel(mesh.get_array()), values.T.ravel())
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("I", "J", "u")
    assert mesh.colorbar.ax.get_ylabel() == "m"


def test_of_three_dimensions_a_level_is_drawn():
    field = ff.as_field(ff.domain({I: 2, J: 2, K: (3, 5)}), np.arange(8.0).reshape(2, 2, 2))
    assert field.plot().get_title() == "K = 3"
    ax = field.plot(at={K: 4})
    np.testing.assert_array_equal(np.ravel(cells(ax).get_array()), [1.0, 5.0, 3.0, 7.0])
    across = field.plot(at={J: 1})
    assert (across.get_xlabel(), across.get_ylabel()) == ("I", "K")


def test_one_dimension_is_a_line():
    ax = ff.as_field(ff.domain({I: (2, 5)}), [1.0, 4.0, 9.0]).plot()
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[2.0, 1.0], [3.0, 4.0], [4.0, 9.0]]


def test_a_mesh_is_drawn_by_points_or_triangles():
    mesh = ([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [[0, 1, 2], [1, 3, 2]])
    on_points = ff.as_field([V], np.arange(4.0)).plot(mesh=mesh)
    on_triangles = ff.as_field([V], np.arange(2.0)).plot(mesh=mesh)
    np.testing.assert_array_equal(cells(on_points).get_array(), np.arange(4.0))
    np.testing.assert_array_equal(cells(on_triangles).get_array(), np.arange(2.0))
    whole = ff.Mesh({"C2V": mesh[2]}, {"V": mesh[:2]})
    of_mesh = ff.as_field([V], np.arange(2.0)).plot(mesh=whole)
    np.testing.assert_array_equal(cells(of_mesh).get_array(), np.arange(2.0))
    with pytest.raises(ff.errors.DomainError, match="3 values, the mesh 4 points and 2 triangles"):
        ff.zeros({V: 3}).plot(mesh=mesh)


def test_what_cannot_be_drawn_says_why():
    with pytest.raises(ff.errors.DomainError, match="has 3 left"):
        ff.zeros({I: 2, J: 2, V: 2}).plot()
    with pytest.raises(ff.errors.DomainError, match="no dimension 'K'"):
        ff.zeros({I: 2}).plot(at={K: 0})


def test_the_profile_of_a_column_has_its_levels_upward():
    profile = ff.as_field([K], [3.0, 2.0, 1.0])

    axes = profile.plot(units="m s-1")

    (line,) = axes.get_lines()
    assert line.get_ydata().tolist() == [0.0, 1.0, 2.0]
    assert line.get_xdata().tolist() == [3.0, 2.0, 1.0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("m s-1", "K")
