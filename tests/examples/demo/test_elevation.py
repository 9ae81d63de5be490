"""Elevation models: what is read, and what is refused and how."""

import numpy as np
import pytest

from fieldforge.errors import InputDataError
from fieldforge.examples.demo.elevation import default_elevation, read_elevation

ROWS = np.arange(96, dtype=np.int16).reshape(8, 12)  # north to south


@pytest.mark.parametrize("kind", ["npy", "npz", "npz with a name", "tif"])
def test_rows_from_north_to_south_become_i_and_j(tmp_path, kind):
    path = tmp_path / f"terrain.{kind.split()[0]}"
    write(path, kind)

    elevation = read_elevation(path, 90.0)

    assert elevation.spacing == (90.0, 90.0)
    assert elevation.heights.shape == (12, 8)
    assert elevation.heights[3, 0] == ROWS[-1, 3]
    assert elevation.heights[3, 7] == ROWS[0, 3]


def write(path, kind):
    if kind == "npy":
        np.save(path, ROWS)
    elif kind == "npz":
        np.savez(path, anything=ROWS)
    elif kind == "npz with a name":
        np.savez(path, elevation=ROWS, other=ROWS * 2)
    else:
        from PIL import Image

        Image.fromarray(ROWS.astype(np.float32)).save(path)


def test_the_tile_of_matplotlib_is_real_terrain():
    elevation = default_elevation()

    assert elevation.heights.shape == (403, 344)
    assert (elevation.heights.min(), elevation.heights.max()) == (236.0, 1076.0)
    assert elevation.spacing == pytest.approx((74.4, 92.7), abs=0.1)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(9), "two-dimensional array of at least 8 x 8 heights"),
        (np.zeros((3, 90)), r"got shape \(3, 90\)"),
        (np.zeros((9, 9), complex), "Expected numbers .* got dtype complex128"),
        (np.array([["a"] * 9] * 9), "Expected numbers"),
        (np.full((9, 9), np.nan), "Expected finite heights"),
        (np.full((9, 9), -32768.0), "between -11000 and 9000 m .* fill the missing values"),
        (np.full((9, 9), 2e4), "got 20000 to 20000"),
    ],
)
def test_what_is_no_elevation_array_is_refused(tmp_path, array, message):
    path = tmp_path / "terrain.npy"
    np.save(path, array)

    with pytest.raises(InputDataError, match=message):
        read_elevation(path, 90.0)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".tif"])
def test_a_damaged_file_is_refused(tmp_path, ending):
    path = tmp_path / f"terrain{ending}"
    path.write_bytes(b"not an array at all")

    with pytest.raises(InputDataError, match="Cannot read 'terrain"):
        read_elevation(path, 90.0)


def test_pickled_objects_are_never_loaded(tmp_path):
    path = tmp_path / "terrain.npy"
    np.save(path, np.array([[object()]], dtype=object), allow_pickle=True)

    with pytest.raises(InputDataError, match="Cannot read"):
        read_elevation(path, 90.0)


def test_missing_files_unknown_endings_and_spacings_are_refused(tmp_path):
    with pytest.raises(InputDataError, match="There is no file"):
        read_elevation(tmp_path / "none.npy", 90.0)
    with pytest.raises(InputDataError, match=r"ending in .*, got 'terrain.csv'"):
        read_elevation(tmp_path / "terrain.csv", 90.0)
    with pytest.raises(InputDataError, match="positive spacing"):
        read_elevation(tmp_path / "terrain.npy", -1.0)
