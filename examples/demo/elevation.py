"""Read a digital elevation model: heights in metres and the distance between cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from fieldforge.errors import InputDataError

METRES_PER_DEGREE = 111_195.0  # of a great circle on a sphere of radius 6371 km
SMALLEST = 8  # cells along each side
HIGHEST = 9_000.0  # metres; the summit of Everest is at 8849
LOWEST = -11_000.0


@attrs.frozen(eq=False)
class Elevation:
    """Heights in metres, shape (ni, nj), west to east and south to north, with the cell spacing."""

    heights: NDArray[np.float64]
    spacing: tuple[float, float]
    name: str


def default_elevation() -> Elevation:
    """Return the SRTM tile that ships inside matplotlib (Cumberland Mountains, 3 arc seconds)."""
    from matplotlib.cbook import get_sample_data

    opened: Any = get_sample_data("jacksboro_fault_dem.npz")
    with opened as data:
        latitude = np.radians((float(data["ymin"]) + float(data["ymax"])) / 2.0)
        spacing = (
            float(data["dx"]) * METRES_PER_DEGREE * float(np.cos(latitude)),
            float(data["dy"]) * METRES_PER_DEGREE,
        )
        return _checked(data["elevation"], spacing, "SRTM tile jacksboro_fault_dem")


def read_elevation(path: Path, spacing: float) -> Elevation:
    """Read heights from `.npz` (array 'elevation' or the only one), `.npy` or `.tif`.

    Rows run from north to south, as in maps and images.

    Raises:
        InputDataError: the file is not an elevation array.
    """
    if not spacing > 0.0:
        raise InputDataError(f"Expected a positive spacing in metres, got {spacing}.")
    readers = {".npz": _read_npz, ".npy": _read_npy, ".tif": _read_tif, ".tiff": _read_tif}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputDataError(
            f"Expected a file ending in {', '.join(sorted(readers))}, got '{path.name}'."
        )
    if not path.is_file():
        raise InputDataError(f"There is no file '{path}'.")
    try:
        rows = reader(path)
    except (OSError, ValueError, EOFError) as trouble:
        raise InputDataError(
            f"Cannot read '{path.name}' as an elevation array: {trouble}."
        ) from trouble
    return _checked(rows, (spacing, spacing), path.name)


def _read_npy(path: Path) -> NDArray[np.generic]:
    return np.asarray(np.load(path, allow_pickle=False))


def _read_npz(path: Path) -> NDArray[np.generic]:
    with np.load(path, allow_pickle=False) as data:
        if "elevation" in data:
            return np.asarray(data["elevation"])
        grids = [name for name in data.files if data[name].ndim == 2]
        if len(grids) != 1:
            raise ValueError(
                f"expected an array named 'elevation' or one with two axes, got {data.files}"
            )
        return np.asarray(data[grids[0]])


def _read_tif(path: Path) -> NDArray[np.generic]:
    from PIL import Image  # comes with matplotlib

    with Image.open(path) as image:
        return np.asarray(image)


def _checked(rows: NDArray[np.generic], spacing: tuple[float, float], name: str) -> Elevation:
    if rows.ndim != 2 or min(rows.shape) < SMALLEST:
        raise InputDataError(
            f"Expected a two-dimensional array of at least {SMALLEST} x {SMALLEST} heights in "
            f"'{name}', got shape {rows.shape}."
        )
    if rows.dtype.kind not in "iuf":
        raise InputDataError(f"Expected numbers in '{name}', got dtype {rows.dtype}.")
    heights = rows.astype(np.float64)
    if not np.isfinite(heights).all():
        raise InputDataError(f"Expected finite heights in '{name}', got NaN or infinity.")
    low, high = float(heights.min()), float(heights.max())
    if low < LOWEST or high > HIGHEST:
        raise InputDataError(
            f"Expected heights between {LOWEST:.0f} and {HIGHEST:.0f} m in '{name}', "
            f"got {low:.0f} to {high:.0f}; fill the missing values first."
        )
    return Elevation(np.ascontiguousarray(heights[::-1].T), spacing, name)
