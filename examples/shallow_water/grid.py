"""Tables, lengths, areas and TRiSK weights of a Voronoi mesh of a sphere.

The names are those of the scheme: a *cell* is a Voronoi cell (a vertex of the triangular mesh), a
*vertex* is a corner of Voronoi cells (a triangle). The normal of an edge points from its first to
its second cell, the tangent 90 degrees to the left of it, from its first to its second vertex.

The weights of the tangential wind are those of Thuburn, Ringler, Skamarock & Klemp (2009, Journal
of Computational Physics 228): with them the divergence on triangles of the tangential flux is the
area-weighted mean of the divergence on cells, so that geostrophic modes are stationary.

>>> from .voronoi import optimised
>>> grid = voronoi_grid(optimised(level=2, iterations=20), radius=1.0)
>>> grid.cells, grid.edges, grid.vertices
(162, 480, 320)
>>> round(float(grid.cell_areas.sum() / np.pi), 9)
4.0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff

from ..icosahedral import Indices, Mesh, Points, Table
from ..mesh_geometry import (
    Numbers,
    away,
    cell_areas,
    dual_areas,
    dual_lengths,
    edge_lengths,
    outward,
    solid_angle,
    tangents,
)  # fmt: skip
from ..mesh_rows import in_rows

Cell, Edge, Vertex = (ff.Dimension(name) for name in ("Cell", "Edge", "Vertex"))
C2EDim, E2CDim, E2VDim, V2EDim, V2CDim, E2E2CDim = (
    ff.Dimension(name, ff.DimensionKind.LOCAL)
    for name in ("C2E", "E2C", "E2V", "V2E", "V2C", "E2E2C")
)
C2E = ff.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))
E2C = ff.FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
E2V = ff.FieldOffset("E2V", source=Vertex, target=(Edge, E2VDim))
V2E = ff.FieldOffset("V2E", source=Edge, target=(Vertex, V2EDim))
V2C = ff.FieldOffset("V2C", source=Cell, target=(Vertex, V2CDim))
E2E = ff.FieldOffset("E2E2C", source=Edge, target=(Edge, E2E2CDim))
OFFSETS: Final = (C2E, E2C, E2V, V2E, V2C, E2E)


@attrs.frozen(kw_only=True, eq=False)
class Grid:
    """A Voronoi mesh in metres; -1 in a table is a missing neighbour, its coefficients are 0.

    * `C2E` (cells, 6): edges of a cell, counter-clockwise. `out_of_cell`: 1 where the normal
      points out, else -1.
    * `E2C`, `E2V` (edges, 2): in the direction of the normal, of the tangent.
    * `V2E`, `V2C` (vertices, 3). `around_vertex`: 1 where the normal of the edge goes
      counter-clockwise around the vertex, else -1. `kites`: area that cell and vertex share.
    * `E2E2C` (edges, 10): the other edges of the first cell, then those of the second.
      `weights`: of the normal flux through these edges in the tangential flux, without lengths.
    """

    tables: Mapping[str, Table]
    cell_points: Points
    edge_points: Points
    vertex_points: Points
    normals: Points
    radius: float
    edge_lengths: Numbers  # of Voronoi edges: l_e
    cell_distances: Numbers  # of the cells of an edge: d_e
    cell_areas: Numbers
    vertex_areas: Numbers
    out_of_cell: Numbers
    around_vertex: Numbers
    kites: Numbers
    weights: Numbers

    @property
    def cells(self) -> int:
        """How many Voronoi cells there are."""
        return len(self.cell_points)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.edge_points)

    @property
    def vertices(self) -> int:
        """How many corners of Voronoi cells there are."""
        return len(self.vertex_points)


def connectivities(
    tables: Mapping[str, Table], *, skips: bool = False, allocator: Any = None
) -> dict[str, Any]:
    """Return the tables of a grid, or of a part of it, as an offset provider.

    Args:
        tables: one for each offset, (points, neighbours).
        skips: whether any table may have missing neighbours; on the whole sphere two have.
        allocator: a backend, in whose memory they lie; None for the host.
    """
    return {
        offset.value: ff.as_connectivity(
            offset.target,
            codomain=offset.source,
            data=tables[offset.value],
            skip_value=-1 if skips or offset in (C2E, E2E) else None,
            allocator=allocator,
        )
        for offset in OFFSETS
    }


def voronoi_grid(mesh: Mesh, radius: float) -> Grid:
    """Make the grid whose cells are the Voronoi cells of the vertices of a triangular mesh.

    Args:
        mesh: its cell points must be the centres of the circles through the corners.
        radius: of the sphere, in metres.
    """
    c2e, e2c, e2v = mesh.tables["V2E"], mesh.tables["E2V"], mesh.tables["E2C"]
    c2v = _ahead(c2e, away(mesh), e2v)
    areas, kites = dual_areas(mesh), _kites(mesh, c2e, c2v)
    e2e, weights = _tangential(c2e, e2c, away(mesh), kites / areas[:, None])
    v2c = mesh.tables["C2V"]
    slot = in_rows(
        lambda of, at: np.argmax(c2v[of] == at[:, None, None], axis=2), v2c, np.arange(mesh.cells)
    )
    tables = {
        "C2E": c2e, "E2C": e2c, "E2V": e2v, "V2E": mesh.tables["C2E"], "V2C": v2c, "E2E2C": e2e,
    }  # fmt: skip
    return Grid(
        tables={name: np.ascontiguousarray(table, np.int32) for name, table in tables.items()},
        cell_points=mesh.vertex_points,
        edge_points=mesh.edge_points,
        vertex_points=mesh.cell_points,
        normals=tangents(mesh),
        radius=radius,
        edge_lengths=radius * dual_lengths(mesh),
        cell_distances=radius * edge_lengths(mesh),
        cell_areas=radius**2 * areas,
        vertex_areas=radius**2 * cell_areas(mesh),
        out_of_cell=away(mesh),
        around_vertex=-outward(mesh),
        kites=radius**2 * kites[v2c, slot],
        weights=weights,
    )


def _ahead(c2e: Table, sign: Numbers, e2v: Table) -> Indices:
    """Return the vertex at the counter-clockwise end of each edge of a cell; -1 for none."""
    return np.where(c2e < 0, -1, np.where(sign > 0, e2v[c2e, 1], e2v[c2e, 0]))


def _next(c2e: Table) -> Indices:
    """Return the column of the edge after each one; a pentagon has five."""
    count = (c2e >= 0).sum(1)[:, None]
    return np.asarray((np.arange(6) + 1) % count)


def _kites(mesh: Mesh, c2e: Table, c2v: Indices) -> Numbers:
    """Return the areas between a cell's centre, edge k, vertex k and edge k + 1; (cells, 6)."""

    def of(points: Points, edges: Table, corners: Indices) -> Numbers:
        centre, corner, middle = points[:, None], mesh.cell_points[corners], mesh.edge_points[edges]
        after = np.take_along_axis(middle, _next(edges)[:, :, None], axis=1)
        area = solid_angle(centre, middle, corner) + solid_angle(centre, corner, after)
        return np.where(edges < 0, 0.0, area)

    return in_rows(of, mesh.vertex_points, c2e, c2v)


def _tangential(c2e: Table, e2c: Table, sign: Numbers, share: Numbers) -> tuple[Indices, Numbers]:
    """Return the edges of both cells of each edge and their weights.

    From edge e counter-clockwise around cell i to edge e', the weight is the product of their
    signs with 1/2 minus the shares of the area of i at the vertices that are passed.
    """
    count = (c2e >= 0).sum(1)

    def of(cells: Table, edges: Indices) -> Numbers:
        tables, weights = [], []
        for cell in cells.T:
            at = np.argmax(c2e[cell] == edges[:, None], axis=1)
            own, passed, degree = sign[cell, at], np.zeros(len(edges)), count[cell]
            for step in range(1, 6):
                passed = passed + share[cell, (at + step - 1) % degree]
                column = (at + step) % degree
                is_there = step < degree
                tables.append(np.where(is_there, c2e[cell, column], -1))
                weights.append(np.where(is_there, own * sign[cell, column] * (0.5 - passed), 0.0))
        return np.stack([*tables, *weights], axis=1)

    both = in_rows(of, e2c, np.arange(len(e2c)))
    return both[:, :10].astype(np.int64), both[:, 10:]
