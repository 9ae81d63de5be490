"""Spherical centroidal Voronoi meshes: Lloyd's method on the icosahedral mesh, and their quality.

The vertices of the triangles generate Voronoi cells: hexagons, and twelve pentagons. Lloyd's
method moves each generator to the centroid of its cell (Du, Faber & Gunzburger, 1999, SIAM Review
41). The neighbours of an icosahedral mesh stay the same under these small moves.

>>> mesh = optimised(level=2, iterations=50)
>>> mesh.vertices
162
>>> before, after = quality(optimised(level=2, iterations=0)), quality(mesh)
>>> after.off_centroid < 0.1 * before.off_centroid
True
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Final

import attrs
import numpy as np

from ..icosahedral import Mesh, Points, Table, icosahedral
from ..mesh_geometry import Numbers, corners, dual_lengths, edge_lengths, solid_angle
from ..mesh_rows import in_rows, sums

CONVERGED: Final = 1e-9  # a smaller move, in units of the spacing, changes nothing that is measured


@attrs.frozen
class Quality:
    """Measures of a Voronoi mesh; all but the spacing are ratios.

    * `spacing`: mean distance of neighbouring generators on the unit sphere.
    * `uniformity`: smallest over largest distance of neighbouring generators.
    * `shortest_side`: shortest side of a Voronoi cell, in units of the spacing.
    * `off_centroid`: largest distance of a generator from its centroid, in units of the spacing.
    * `off_middle`: largest distance of the crossing of an edge and its dual from the middle of the
      Voronoi edge, in units of the length of that edge.
    """

    spacing: float
    uniformity: float
    shortest_side: float
    off_centroid: float
    off_middle: float


def optimised(level: int, iterations: int = 300, relaxation: float = 1.8, *, root: int = 1) -> Mesh:
    """Make an icosahedral mesh with 10 * root^2 * 4^level + 2 Voronoi cells, move the generators.

    Args:
        level: how often all edges of the icosahedron are halved.
        iterations: largest number of steps of Lloyd's method; level 4 converges in about 200.
        relaxation: how far a generator moves, in units of the way to the centroid; below 2.
        root: into how many parts these edges are divided before.
    """
    mesh = icosahedral(root, level)
    mesh = with_generators(mesh, mesh.vertex_points)
    for _ in range(iterations):
        points = mesh.vertex_points
        way = relaxation * (centroids(mesh) - points)
        if np.abs(way).max() < CONVERGED * 2.0**-level:
            break
        mesh = with_generators(mesh, _unit(points + way))
    return mesh


def kept(level: int, file: Path | None) -> Mesh:
    """Return `optimised(level)`, its generators from a file; the first call makes the file."""
    if file is None or not file.exists():
        mesh = optimised(level)
        if file is not None:
            np.save(file, mesh.vertex_points)
        return mesh
    mesh, points = icosahedral(1, level), np.load(file)
    if points.shape != mesh.vertex_points.shape:
        raise ValueError(
            f"Expected {mesh.vertices} generators for level {level}, '{file}' has {len(points)}."
        )
    return with_generators(mesh, points)


def with_generators(mesh: Mesh, points: Points) -> Mesh:
    """Return the mesh of the same neighbours with other generators; (vertices, 3), unit vectors."""

    def middle(ends: Table) -> Points:
        return _unit(points[ends].sum(1))

    def centre(of: Table) -> Points:
        a, b, c = corners(points, of)
        return _unit(np.cross(b - a, c - a))

    return dataclasses.replace(
        mesh,
        vertex_points=points,
        edge_points=in_rows(middle, mesh.tables["E2V"]),
        cell_points=in_rows(centre, mesh.tables["C2V"]),
    )


def centroids(mesh: Mesh) -> Points:
    """Return the centroid of each Voronoi cell, pushed out to the sphere."""
    e2v = mesh.tables["E2V"]

    def part(vertex: Table, cells: Table) -> Points:
        generator, (first, second) = mesh.vertex_points[vertex], corners(mesh.cell_points, cells)
        area = solid_angle(generator, first, second)
        return np.asarray(area[:, None] * (generator + first + second))

    parts = [
        in_rows(part, e2v[:, end], mesh.tables["E2C"][:, way])
        for end, way in ((0, slice(None)), (1, slice(None, None, -1)))
    ]
    return in_rows(_unit, sums(np.concatenate(parts), e2v.T.ravel(), mesh.vertices))


def quality(mesh: Mesh) -> Quality:
    """Measure a mesh."""
    between, sides = edge_lengths(mesh), dual_lengths(mesh)
    spacing = float(between.mean())
    middle = _unit(mesh.cell_points[mesh.tables["E2C"]].sum(1))
    off_middle = _distance(middle, mesh.edge_points) / sides
    return Quality(
        spacing=spacing,
        uniformity=float(between.min() / between.max()),
        shortest_side=float(sides.min()) / spacing,
        off_centroid=float(_distance(centroids(mesh), mesh.vertex_points).max()) / spacing,
        off_middle=float(off_middle.max()),
    )


def _unit(points: Points) -> Points:
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True))


def _distance(a: Points, b: Points) -> Numbers:
    return np.asarray(np.linalg.norm(a - b, axis=-1))
