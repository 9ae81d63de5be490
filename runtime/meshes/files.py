"""Meshes in NetCDF files: UGRID topologies and grid files of ICON, as tables of neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ..process import InputDataError, MissingPackageError
from .mesh import UGRID, Mesh
from .tables import KINDS, as_table, check, kinds_of, sizes_of

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
_TROUBLE: Final = (OSError, RuntimeError, ValueError, IndexError, TypeError)
_DENSEST: Final = 1100  # deflate makes data smaller by a factor of 1032 at most


def read_mesh(path: str | Path) -> Mesh:
    """Read the mesh of a NetCDF file in this process, and check its tables."""
    library = netcdf()
    try:
        with library.Dataset(str(path)) as dataset:
            mesh = _mesh(dataset, Path(path).stat().st_size)
        check(mesh.tables)
    except InputDataError as error:
        raise InputDataError(f"In '{path}': {error.message}", hints=error.hints) from None
    except _TROUBLE as error:
        raise InputDataError(f"'{path}' cannot be read as NetCDF: {error}.") from error
    return mesh


def _mesh(dataset: Any, bytes_of_file: int) -> Mesh:
    for name, variable in dataset.variables.items():
        if int(variable.size) * np.dtype(variable.dtype).itemsize > _DENSEST * bytes_of_file:
            raise InputDataError(
                f"Variable '{name}' has {variable.size} elements, more than a file of "
                f"{bytes_of_file} bytes can hold."
            )
    for variable in dataset.variables.values():
        if _text(variable, "cf_role") == "mesh_topology":
            return _ugrid(dataset, variable)
    if ICON["C2V"] in dataset.variables:
        return _icon(dataset)
    raise InputDataError(
        "The file holds no mesh: it has neither a variable with 'cf_role' 'mesh_topology' nor "
        f"'{ICON['C2V']}'."
    )


def _ugrid(dataset: Any, topology: Any) -> Mesh:
    points = {}
    for letter, role, _ in _POINTS:
        names = _text(topology, f"{role}_coordinates").split()
        if names:
            if len(names) < 2:
                raise InputDataError(
                    f"Attribute '{role}_coordinates' names {names}, expected two variables."
                )
            x, y = (_variable(dataset, name, f"{role}_coordinates")[:] for name in names[:2])
            points[letter] = x, y
    tables, starts = {}, {}
    for name, role in UGRID.items():
        if variable := _text(topology, role):
            found = _variable(dataset, variable, role)
            tables[name], starts[name] = _rows_first(topology, role, found), _start(found)
    return _counted(tables, starts, points)


def _rows_first(topology: Any, role: str, variable: Any) -> Any:
    """Read a table; rows lie along the first dimension, or along that of the topology."""
    if len(variable.dimensions) != 2:
        raise InputDataError(
            f"Variable '{variable.name}' must have rows and columns, got {variable.dimensions}."
        )
    rows = _text(topology, f"{role.partition('_')[0]}_dimension")
    turned = rows in variable.dimensions and variable.dimensions.index(rows) == 1
    return variable[:].T if turned else variable[:]


def _counted(
    tables: Mapping[str, Any], starts: Mapping[str, int], points: Mapping[str, tuple[Any, Any]]
) -> Mesh:
    """Return the mesh of tables that count from `starts`."""
    sizes = sizes_of(tables, {letter: np.size(x) for letter, (x, _) in points.items()})
    made = {}
    for name, values in tables.items():
        entry = kinds_of(name)[1]
        try:
            made[name] = as_table(name, values, starts[name], sizes.get(entry))
        except InputDataError as error:
            hint = f"The table counts from {starts[name]}, as its 'start_index' says."
            raise InputDataError(error.message, hints=(*error.hints, hint)) from None
        if made[name].size and entry not in sizes and not (made[name] == 0).any():
            raise InputDataError(
                f"Table '{name}' counts from {starts[name]} and names no row {starts[name]}: "
                f"the first of the {KINDS[entry]} would lie in none.",
                hint=f"Correct its 'start_index', or give the coordinates of the {KINDS[entry]}.",
            )
    return Mesh(made, points)


def _icon(dataset: Any) -> Mesh:
    tables = {
        name: np.ma.masked_equal(dataset.variables[variable][:].T, 0)  # 0 or -1: no neighbour
        for name, variable in ICON.items()
        if variable in dataset.variables
    }
    return _counted(tables, dict.fromkeys(tables, 1), dict(_icon_points(dataset)))


def _icon_points(dataset: Any) -> Iterator[tuple[str, tuple[Array, Array]]]:
    for letter, _, short in _POINTS:
        pair = (f"{short}lon", f"{short}lat")
        if all(name in dataset.variables for name in pair):
            lon, lat = (dataset.variables[name][:] for name in pair)
            yield letter, (lon, lat)


def _variable(dataset: Any, name: str, role: str) -> Any:
    if name not in dataset.variables:
        raise InputDataError(f"Attribute '{role}' names '{name}', but there is no such variable.")
    return dataset.variables[name]


def _text(variable: Any, attribute: str) -> str:
    """Return an attribute, empty where it is not given."""
    value = getattr(variable, attribute, "")
    if not isinstance(value, str):
        raise InputDataError(
            f"Attribute '{attribute}' of '{variable.name}' must be a text, got '{value}'."
        )
    return value


def _start(variable: Any) -> int:
    start = getattr(variable, "start_index", 0)
    if np.ndim(start) or start not in (0, 1):
        raise InputDataError(
            f"Attribute 'start_index' of '{variable.name}' must be 0 or 1, got '{start}'."
        )
    return int(start)


def netcdf() -> Any:
    """Return the package netCDF4."""
    try:
        import netCDF4
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Package 'netCDF4' is not installed.", hint="pip install 'fieldforge[xarray]'"
        ) from error
    return netCDF4
