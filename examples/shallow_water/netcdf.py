"""Write the frames of a run as NetCDF, by xarray and netCDF4."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from ..icosahedral import Points
from .cases import longitude_latitude
from .norms import vorticity
from .simulation import Result


def dataset_of(result: Result) -> Any:
    """Return the frames as a dataset of xarray: thickness, surface, velocity, vorticity."""
    import xarray

    grid, frames = result.grid, result.frames
    h = np.stack([each.h for each in frames])
    variables = {
        "thickness": (("time", "cell"), h, {"units": "m"}),
        "surface": (("time", "cell"), h + result.start.ground, {"units": "m"}),
        "normal_velocity": (("time", "edge"), np.stack([e.u for e in frames]), {"units": "m s-1"}),
        "vorticity": (
            ("time", "vertex"),
            np.stack([vorticity(grid, each.u) for each in frames]),
            {"units": "s-1", "standard_name": "atmosphere_relative_vorticity"},
        ),
        "ground": (("cell",), result.start.ground, {"units": "m"}),
        "cell_area": (("cell",), grid.cell_areas, {"units": "m2"}),
        **{
            name: (("time",), [getattr(each.conserved, name) for each in frames])
            for name in ("mass", "energy", "potential_enstrophy")
        },
    }
    coordinates = {
        "time": (("time",), [each.days for each in frames], {"long_name": "days of the run"}),
        **_places("cell", grid.cell_points),
        **_places("edge", grid.edge_points),
        **_places("vertex", grid.vertex_points),
    }
    about = {"Conventions": "CF-1.8", **attrs.asdict(result.case)}
    return xarray.Dataset(variables, coordinates, about)


def write(result: Result, path: Path) -> None:
    """Write the dataset; the file appears whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    dataset_of(result).to_netcdf(beside, engine="netcdf4")
    beside.replace(path)


def _places(name: str, points: Points) -> dict[str, Any]:
    lon, lat = (np.degrees(each) for each in longitude_latitude(points))
    return {
        f"{name}_lon": ((name,), lon, {"units": "degrees_east", "standard_name": "longitude"}),
        f"{name}_lat": ((name,), lat, {"units": "degrees_north", "standard_name": "latitude"}),
    }
