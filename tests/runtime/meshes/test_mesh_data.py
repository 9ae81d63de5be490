"""What is no mesh is refused with the file, the table, the row and the entry."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import InputDataError
from fieldforge.runtime.meshes.files import ICON

CORNERS = np.array([[0, 1, 2], [1, 3, 2]])


@pytest.fixture
def ugrid(tmp_path):
    """Write two triangles of four nodes as a UGRID file, with something else about them."""
    netcdf = pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")

    def write(corners=CORNERS, dtype="i8", fill=None, start=0, nodes=4, **attributes):
        path = tmp_path / "mesh.nc"
        with netcdf.Dataset(path, "w") as file:
            for name, size in (("face", 2), ("three", 3), ("node", nodes)):
                file.createDimension(name, size)
            topology = file.createVariable("mesh", "i4")
            about = {"cf_role": "mesh_topology", "face_node_connectivity": "corners"}
            about["node_coordinates"] = "x y"
            topology.setncatts({key: v for key, v in (about | attributes).items() if v is not None})
            table = file.createVariable("corners", dtype, ("face", "three"), fill_value=fill)
            table.start_index = start
            table[:] = corners
            for name in ("x", "y"):
                file.createVariable(name, "f8", ("node",))[:] = np.arange(nodes)
        return path

    return write


def with_entry(value, row=1, dtype=np.int64, start=0):
    corners = (CORNERS + start).astype(dtype)
    corners[row, 1] = value
    return corners


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"corners": with_entry(2**32 + 3)}, "'C2V' holds 4294967299 in row 1"),
        ({"corners": with_entry(9)}, "'C2V' holds 9 in row 1, but indices go from 0 to 3"),
        ({"corners": with_entry(-5, 0)}, "'C2V' holds -5 in row 0"),
        ({"corners": with_entry(2.7, dtype=float), "dtype": "f8"}, "'C2V' holds 2.7 in row 1"),
        ({"corners": CORNERS + 1}, "'C2V' holds 4 in row 1, but indices go from 0 to 3"),
        ({"start": 1}, "'C2V' holds 0 in row 0, but indices go from 1 to 4"),
        ({"corners": CORNERS + 1, "node_coordinates": None}, "counts from 0 and names no row 0"),
        ({"start": 7}, "'start_index' of 'corners' must be 0 or 1, got '7'"),
        ({"start": "one"}, "'start_index' of 'corners' must be 0 or 1, got 'one'"),
        ({"nodes": 3}, "'C2V' holds 3 in row 1, but indices go from 0 to 2"),
        ({"node_coordinates": "x z"}, "names 'z', but there is no such variable"),
        ({"node_coordinates": "x"}, "'node_coordinates' names ['x'], expected two variables"),
        ({"node_coordinates": 3}, "'node_coordinates' of 'mesh' must be a text, got '3'"),
        ({"face_node_connectivity": "faces"}, "names 'faces', but there is no such variable"),
        ({"face_node_connectivity": "x"}, "Variable 'x' must have rows and columns"),
    ],
)  # fmt: skip
def test_a_ugrid_file_that_is_no_mesh_is_refused(ugrid, given, words):
    path = ugrid(**given)

    with pytest.raises(InputDataError) as caught:
        ff.read_mesh(path)

    assert words in caught.value.message
    assert caught.value.message.startswith(f"In '{path}': ")


@pytest.mark.parametrize(
    "given",
    [
        {"corners": with_entry(-1)},
        {"corners": with_entry(-1, start=1), "start": 1},
        {"corners": with_entry(-999), "fill": -999},
        {"corners": with_entry(np.nan, dtype=float), "dtype": "f8"},
    ],
)
def test_missing_corners_are_minus_one_the_fill_value_and_nan(ugrid, given):
    assert ff.read_mesh(ugrid(**given)).tables["C2V"].tolist() == [[0, 1, 2], [1, -1, 2]]


@pytest.mark.parametrize("value", [-5, 6, 2**31])
def test_an_icon_file_with_a_wrong_index_is_refused(tmp_path, value):
    netcdf = pytest.importorskip("netCDF4", reason="the extra 'xarray' is not installed")
    with netcdf.Dataset(tmp_path / "grid.nc", "w") as file:
        for name, size in (("cell", 2), ("three", 3), ("vertex", 4)):
            file.createDimension(name, size)
        table = file.createVariable(ICON["C2V"], "i8", ("three", "cell"))
        table[:] = with_entry(value, start=1).T
        for name in ("vlon", "vlat"):
            file.createVariable(name, "f8", ("vertex",))[:] = np.arange(4)

    with pytest.raises(InputDataError, match=f"'C2V' holds {value} in row 1, .* from 1 to 4"):
        ff.read_mesh(tmp_path / "grid.nc")


@pytest.mark.parametrize(
    ("entry", "points", "words"),
    [
        (2**32 + 3, {}, "'C2V' holds 4294967299 in row 1"),
        (-2, {}, "'C2V' holds -2 in row 1"),
        (3, {"V": (np.zeros(3), np.zeros(3))}, "'C2V' holds 3 in row 1"),
        (3, {"V": (np.zeros(4), np.zeros(5))}, "coordinates of 'V' have 4 and 5 rows"),
        (3, {"C": (np.zeros(3), np.zeros(3))}, "'C2V' has 2 rows, but there are 3 cells"),
        (3, {"V": (np.zeros((4, 1)), np.zeros(4))}, "Coordinates of 'V' must be numbers along one"),
        (3, {"V": (np.ma.masked_equal([0, 1, 2, 9], 9), np.zeros(4))}, "'V' is missing in row 3"),
    ],
)  # fmt: skip
def test_a_mesh_of_arrays_that_is_none_is_refused(entry, points, words):
    with pytest.raises(InputDataError, match=words):
        ff.Mesh({"C2V": [[0, 1, 2], [1, entry, 2]]}, points)


def test_masked_entries_are_missing():
    masked = np.ma.masked_equal(with_entry(77), 77)
    assert ff.Mesh({"C2V": masked}).tables["C2V"].tolist() == [[0, 1, 2], [1, -1, 2]]
    Cell, Vertex = ff.Dimension("Cell"), ff.Dimension("Vertex")
    C2VDim = ff.Dimension("C2V", ff.DimensionKind.LOCAL)
    table = ff.as_connectivity([Cell, C2VDim], codomain=Vertex, data=masked)
    assert table.asnumpy().tolist() == [[0, 1, 2], [1, -1, 2]]


def test_tables_of_other_dimensions_count_for_themselves():
    mesh = ff.Mesh({"C2E": [[0, 1, 2], [2, 3, 4]], "C2CE": [[0, 1, 2], [3, 4, 5]]})
    assert dict(mesh.sizes) == {"C": 2, "E": 5}
