"""Lengths, areas and directions of a mesh, and the coefficients that operators make of them.

All on the unit sphere: lengths are angles, areas solid angles. Multiply by the radius or its
square for those of a planet.

>>> from fieldforge.examples.icosahedral import icosahedral
>>> mesh = icosahedral(2, 1)
>>> [round(float(areas.sum() / np.pi), 9) for areas in (cell_areas(mesh), dual_areas(mesh))]
[4.0, 4.0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .icosahedral import Mesh, Points, Table
from .mesh_rows import in_rows, sums

Numbers = NDArray[np.float64]


def _arc(a: Points, b: Points) -> Numbers:
    chord = np.linalg.norm(a - b, axis=-1)
    return np.asarray(2 * np.arcsin(0.5 * chord))


def solid_angle(a: Points, b: Points, c: Points) -> Numbers:
    """Return the area of spherical triangles (Van Oosterom & Strackee, 1983), counter-clockwise."""
    volume = (a * np.cross(b, c)).sum(-1)
    around = 1 + (a * b).sum(-1) + (b * c).sum(-1) + (c * a).sum(-1)
    return np.asarray(2 * np.arctan2(volume, around))


def edge_lengths(mesh: Mesh) -> Numbers:
    """Return the distance of the two ends of each edge."""
    return in_rows(lambda ends: _arc(*corners(mesh.vertex_points, ends)), mesh.tables["E2V"])


def corners(points: Points, of: Table) -> Points:
    """Return the points of each column of a table; (rows, columns) to (columns, rows, 3)."""
    return np.moveaxis(points[of], 1, 0)


def dual_lengths(mesh: Mesh) -> Numbers:
    """Return the distance of the centres of the two cells of each edge."""
    return in_rows(lambda cells: _arc(*corners(mesh.cell_points, cells)), mesh.tables["E2C"])


def cell_areas(mesh: Mesh) -> Numbers:
    """Return the area of each triangle."""
    return in_rows(lambda of: solid_angle(*corners(mesh.vertex_points, of)), mesh.tables["C2V"])


def dual_areas(mesh: Mesh) -> Numbers:
    """Return the area of the hexagon or pentagon around each vertex, through the cells' centres."""
    e2v, e2c = mesh.tables["E2V"], mesh.tables["E2C"]

    def half(vertex: Table, cells: Table) -> Numbers:
        right, left = corners(mesh.cell_points, cells)
        return solid_angle(mesh.vertex_points[vertex], right, left)

    halves = [  # the vertex and an edge of its dual cell: to the left of where an edge begins
        in_rows(half, e2v[:, 0], e2c),
        in_rows(half, e2v[:, 1], e2c[:, ::-1]),
    ]
    return sums(np.concatenate(halves), e2v.T.ravel(), mesh.vertices)


def tangents(mesh: Mesh) -> Points:
    """Return the direction of each edge at its middle, a unit vector."""

    def tangent(ends: Table) -> Points:
        a, b = corners(mesh.vertex_points, ends)
        return np.asarray((b - a) / np.linalg.norm(b - a, axis=1, keepdims=True))

    return in_rows(tangent, mesh.tables["E2V"])


def normals(mesh: Mesh) -> Points:
    """Return the direction from the first cell of each edge to its second, a unit vector."""
    return np.cross(mesh.edge_points, tangents(mesh))


def outward(mesh: Mesh) -> Numbers:
    """Return 1 where the normal of an edge of a cell (columns as in `C2E`) points out, else -1."""
    first = mesh.tables["E2C"][mesh.tables["C2E"], 0]
    return np.where(first == np.arange(mesh.cells)[:, None], 1.0, -1.0)


def away(mesh: Mesh) -> Numbers:
    """Return 1 where an edge of a vertex (columns as in `V2E`) begins there, -1 where it ends."""
    edges = mesh.tables["V2E"]
    begins = mesh.tables["E2V"][edges, 0] == np.arange(mesh.vertices)[:, None]
    return np.where(edges < 0, 0.0, np.where(begins, 1.0, -1.0))


def along_dual(mesh: Mesh) -> Numbers:
    """Coefficients of the curl at vertices: signed lengths around the dual cell over its area.

    Edges leave a vertex like spokes; the normals, to their left, go round it counter-clockwise.
    """
    length = dual_lengths(mesh)[mesh.tables["V2E"]]
    return np.asarray(away(mesh) * length / dual_areas(mesh)[:, None])


def along_edge(mesh: Mesh) -> Numbers:
    """Coefficients of the derivative along an edge, from its beginning to its end."""
    return np.array([-1.0, 1.0]) / edge_lengths(mesh)[:, None]


def divergence(mesh: Mesh) -> Numbers:
    """Coefficients of the divergence in cells: signed lengths of the edges over the area."""
    return np.asarray(
        outward(mesh) * edge_lengths(mesh)[mesh.tables["C2E"]] / cell_areas(mesh)[:, None]
    )


def east_and_north(points: Points) -> tuple[Points, Points]:
    """Return unit vectors to east and north; nan at a pole, where no cell has its centre."""
    east = np.cross([0.0, 0.0, 1.0], points)
    east = east / np.linalg.norm(east, axis=1, keepdims=True)
    return east, np.cross(points, east)


def least_squares(mesh: Mesh) -> tuple[Numbers, Numbers]:
    """Weights of the differences to the three neighbours that give the gradient, east and north."""
    east, north = east_and_north(mesh.cell_points)
    ways = mesh.cell_points[mesh.tables["C2E2C"]] - mesh.cell_points[:, None]
    plane = np.stack([(ways * axis[:, None]).sum(2) for axis in (east, north)], axis=2)
    inverse = np.linalg.pinv(plane)  # (cells, 2, 3)
    return np.ascontiguousarray(inverse[:, 0]), np.ascontiguousarray(inverse[:, 1])
