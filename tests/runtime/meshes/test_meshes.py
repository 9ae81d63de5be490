"""Neighbour tables of meshes: derived, checked, and read from files of UGRID and ICON."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import InputDataError
from fieldforge.examples.icosahedral import icosahedral
from fieldforge.runtime.meshes.files import ICON, UGRID
from fieldforge.runtime.meshes.isolated import read_mesh
from fieldforge.runtime.meshes.tables import check, derive


@pytest.fixture(scope="module")
def sphere():
    return icosahedral(2, 1)


def same_neighbours(one, other):
    return (np.sort(one, axis=1) == np.sort(other, axis=1)).all()


@pytest.mark.parametrize("name", ["E2C", "V2E", "V2C", "C2E2C", "C2E2CO"])
def test_tables_follow_from_others(sphere, name):
    base = {own: sphere.tables[own] for own in ("C2E", "C2V", "E2V")}
    made = derive(base, name)[name]
    assert made.dtype == np.int32
    assert same_neighbours(made, sphere.tables[name])


def test_cells_beyond_edges_keep_the_order_of_the_edges(sphere):
    base = {own: sphere.tables[own] for own in ("C2E", "E2C")}
    np.testing.assert_array_equal(derive(base, "C2E2C")["C2E2C"], sphere.tables["C2E2C"])


def test_a_table_that_follows_from_nothing_is_refused():
    with pytest.raises(InputDataError, match="'V2E' does not follow from C2E"):
        derive({"C2E": [[0, 1, 2]]}, "V2E")


def test_a_sound_mesh_passes(sphere):
    check(sphere.tables)


@pytest.mark.parametrize("name", ["C2E", "E2C", "C2E2C", "V2E", "E2V", "V2C"])
def test_one_wrong_entry_is_found(sphere, name):
    broken = {own: table.copy() for own, table in sphere.tables.items()}
    broken[name][7, 1] = (broken[name][7, 1] + 11) % 50
    with pytest.raises(InputDataError, match="from the other tables follow"):
        check(broken)


def test_an_entry_beyond_the_mesh_is_found(sphere):
    broken = dict(sphere.tables) | {"C2E": sphere.tables["C2E"].copy()}
    broken["C2E"][3, 0] = 480
    with pytest.raises(InputDataError, match=r"'C2E' holds .* in row 3, but indices go from 0"):
        check(broken)


def test_icon_files_are_read(sphere, tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    with netcdf.Dataset(tmp_path / "grid.nc", "w") as file:
        for name in ("C2E", "C2V", "C2E2C", "E2C", "E2V", "V2C", "V2E"):
            table = sphere.tables[name]
            file.createDimension(f"{name}_rows", len(table))
            file.createDimension(f"{name}_width", table.shape[1])
            variable = file.createVariable(ICON[name], "i4", (f"{name}_width", f"{name}_rows"))
            variable[:] = (table + 1).T
        file.createDimension("vertex", sphere.vertices)
        for name in ("vlon", "vlat"):
            file.createVariable(name, "f8", ("vertex",))[:] = np.arange(sphere.vertices)
    mesh = read_mesh(tmp_path / "grid.nc")
    for name, table in mesh.tables.items():
        np.testing.assert_array_equal(table, sphere.tables[name])
    assert mesh.triangles()[2].shape == (sphere.cells, 3)
    assert "C2E2CO" in mesh.with_tables("C2E2CO").tables


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("is_turned", [False, True])
def test_ugrid_files_are_read(sphere, tmp_path, start, is_turned):
    netcdf = pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    table = sphere.tables["C2V"]
    with netcdf.Dataset(tmp_path / "grid.nc", "w") as file:
        topology = file.createVariable("mesh", "i4")
        topology.cf_role = "mesh_topology"
        setattr(topology, UGRID["C2V"], "corners")
        topology.face_dimension = "face"
        topology.node_coordinates = "x y"
        file.createDimension("face", len(table))
        file.createDimension("three", 3)
        file.createDimension("node", sphere.vertices)
        dims = ("three", "face") if is_turned else ("face", "three")
        corners = file.createVariable("corners", "i4", dims, fill_value=-999)
        corners.start_index = start
        corners[:] = table.T + start if is_turned else table + start
        for name in ("x", "y"):
            file.createVariable(name, "f8", ("node",))[:] = np.arange(sphere.vertices)
    mesh = read_mesh(tmp_path / "grid.nc").with_tables("V2C")
    np.testing.assert_array_equal(mesh.tables["C2V"], table)
    assert same_neighbours(mesh.tables["V2C"], sphere.tables["V2C"])


def test_other_files_are_refused(tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    netcdf.Dataset(tmp_path / "empty.nc", "w").close()
    with pytest.raises(InputDataError, match="holds no mesh"):
        read_mesh(tmp_path / "empty.nc")
    with pytest.raises(InputDataError, match="cannot be read as NetCDF"):
        ff.read_mesh(tmp_path / "none.nc")


def test_edges_follow_from_corners(sphere):
    made = derive({"C2V": sphere.tables["C2V"]}, "C2E", "E2C", "V2E", "C2E2C")
    ends = [set(pair) for pair in made["E2V"].tolist()]
    for cell, corners in enumerate(sphere.tables["C2V"].tolist()):
        for k, edge in enumerate(made["C2E"][cell]):
            assert ends[edge] == {corners[k], corners[(k + 1) % 3]}
    assert len(ends) == sphere.edges
    assert same_neighbours(made["C2E2C"], sphere.tables["C2E2C"])
    check(made)


def test_edges_keep_their_numbers_where_their_ends_are_known(sphere):
    base = {own: sphere.tables[own] for own in ("C2V", "E2V")}
    np.testing.assert_array_equal(derive(base, "C2E")["C2E"], sphere.tables["C2E"])


def test_cells_may_have_different_numbers_of_corners():
    made = derive({"C2V": [[0, 1, 2, 3], [1, 4, 2, -1]]}, "C2E", "E2C")
    assert made["C2E"][1].tolist()[3] == -1
    assert sorted(map(tuple, made["E2V"].tolist())) == [
        (0, 1), (0, 3), (1, 2), (1, 4), (2, 3), (2, 4),
    ]  # fmt: skip
    assert sorted(made["E2C"].tolist()) == [[0, -1], [0, -1], [0, -1], [0, 1], [1, -1], [1, -1]]


def test_an_edge_that_is_missing_is_reported():
    with pytest.raises(InputDataError, match="lacks an edge"):
        derive({"C2V": [[0, 1, 2]], "E2V": [[0, 1], [1, 2]]}, "C2E")


def test_a_mesh_goes_to_a_ugrid_file_and_back(tmp_path):
    pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    Vertex, Cell = ff.Dimension("Vertex"), ff.Dimension("Cell")
    x, y = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    mesh = ff.Mesh({"C2V": [[0, 1, 2], [1, 3, 2]]}, {"V": (x, y)}).with_tables("C2E", "E2C")
    heat = ff.as_field([Vertex], [1.0, 2.0, 3.0, 4.0])
    data = mesh.to_xarray({"V": Vertex, "C": Cell}, {"heat": heat})
    data.to_netcdf(tmp_path / "mesh.nc")

    again = ff.read_mesh(tmp_path / "mesh.nc")

    assert set(again.tables) == {"C2V", "C2E", "E2C", "E2V"}
    for name, table in again.tables.items():
        np.testing.assert_array_equal(table, mesh.tables[name])
    np.testing.assert_array_equal(again.points["V"], mesh.points["V"])
    assert data["heat"].attrs == {"mesh": "mesh", "location": "node"}


def test_a_field_that_does_not_fit_the_mesh_is_refused():
    pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")
    Vertex = ff.Dimension("Vertex")
    mesh = ff.Mesh({"C2V": [[0, 1, 2]]})
    with pytest.raises(ff.errors.DomainError, match="has 5 vertices, the mesh has 3"):
        mesh.to_xarray({"V": Vertex}, {"heat": ff.zeros({Vertex: 5})})
    with pytest.raises(ff.errors.DomainError, match="lies on 'Vertex', but the mesh has"):
        mesh.to_xarray(None, {"heat": ff.zeros({Vertex: 3})})
