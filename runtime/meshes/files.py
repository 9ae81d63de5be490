"""Meshes in NetCDF files: UGRID topologies and grid files of ICON, as tables of neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ..process.errors import InputDataError, MissingPackageError
from .mesh import UGRID, Mesh
from .tables import Table, check

Array: TypeAlias = np.ndarray[Any, Any]
# Variables of ICON's grid files by table: (neighbour, row) in Fortran's counting.
ICON: Final[Mapping[str, str]] = {
    "C2E": "edge_of_cell",
    "C2V": "vertex_of_cell",
    "C2E2C": "neighbor_cell_index",
    "E2C": "adjacent_cell_of_edge",
    "E2V": "edge_vertices",
    "V2C": "cells_of_vertex",
    "V2E": "edges_of_vertex",
    "V2E2V": "vertices_of_vertex",
}
_POINTS: Final = (("C", "face", "c"), ("E", "edge", "e"), ("V", "node", "v"))


def read_mesh(path: str | Path) -> Mesh:
    """Read the tables of a NetCDF file with a UGRID topology, or of a grid file of ICON.

    The tables are checked against each other.

    Args:
        path: the file.

    Raises:
        InputDataError: if it is no such file, or its tables contradict each other.
        MissingPackageError: if netCDF4 is not installed.

    """
    netcdf = _netcdf()
    try:
        dataset = netcdf.Dataset(str(path))
    except OSError as error:
        raise InputDataError(f"'{path}' cannot be read as NetCDF: {error}.") from error
    with dataset:
        topology = _topology(dataset)
        if topology is not None:
            mesh = _ugrid(dataset, topology)
        elif ICON["C2V"] in dataset.variables:
            mesh = _icon(dataset)
        else:
            raise InputDataError(
                f"'{path}' holds no mesh: it has neither a variable with 'cf_role' "
                f"'mesh_topology' nor '{ICON['C2V']}'."
            )
    check(mesh.tables)
    return mesh


def _topology(dataset: Any) -> Any:
    return next(
        (
            each
            for each in dataset.variables.values()
            if getattr(each, "cf_role", "") == "mesh_topology"
        ),
        None,
    )


def _ugrid(dataset: Any, topology: Any) -> Mesh:
    tables = {
        name: _from_ugrid(topology, dataset.variables[getattr(topology, role)])
        for name, role in UGRID.items()
        if getattr(topology, role, None) in dataset.variables
    }
    points = {}
    for letter, role, _ in _POINTS:
        names = getattr(topology, f"{role}_coordinates", "").split()
        if len(names) == 2:
            x, y = (np.asarray(dataset.variables[name][:]) for name in names)
            points[letter] = x, y
    return Mesh(tables, points)


def _from_ugrid(topology: Any, variable: Any) -> Table:
    """Read a table; rows lie along the first dimension, or along that of the topology."""
    values = np.ma.filled(variable[:].astype(np.int64), -1)
    start = int(getattr(variable, "start_index", 0))
    table = np.where(values < start, -1, values - start)
    role = next(role for role in UGRID.values() if getattr(topology, role, "") == variable.name)
    rows = getattr(topology, f"{role.partition('_')[0]}_dimension", None)
    turned = rows is not None and rows in variable.dimensions and variable.dimensions[1] == rows
    return np.asarray(table.T if turned else table, np.int32)


def _icon(dataset: Any) -> Mesh:
    tables = {}
    for name, variable in ICON.items():
        if variable in dataset.variables:
            values = np.ma.filled(dataset.variables[variable][:].astype(np.int64), 0)
            tables[name] = np.asarray(np.where(values < 1, -1, values - 1).T, np.int32)
    return Mesh(tables, dict(_icon_points(dataset)))


def _icon_points(dataset: Any) -> Iterator[tuple[str, tuple[Array, Array]]]:
    for letter, _, short in _POINTS:
        pair = (f"{short}lon", f"{short}lat")
        if all(name in dataset.variables for name in pair):
            lon, lat = (np.asarray(dataset.variables[name][:]) for name in pair)
            yield letter, (lon, lat)


def _netcdf() -> Any:
    try:
        import netCDF4
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Package 'netCDF4' is not installed.", hint="pip install 'fieldforge[xarray]'"
        ) from error
    return netCDF4
