"""An icosahedral triangular mesh of the sphere, of any refinement, with its tables of neighbours.

The twenty faces of an icosahedron are divided into triangles, and the points pushed out to the
sphere (Sadourny, Arakawa & Mintz, 1968, Monthly Weather Review 96). R<n>B<k> is the way global
models name such meshes: each edge of the icosahedron in `n` parts, then `k` bisections of all.
Every vertex has six neighbours but twelve, which have five; missing ones are -1 in the tables.

>>> mesh = icosahedral(root=2, bisections=1)
>>> mesh.cells, mesh.edges, mesh.vertices
(320, 480, 162)
>>> mesh.cells - mesh.edges + mesh.vertices
2
>>> mesh.tables["E2C2V"].shape, int((mesh.tables["V2E"] < 0).sum())
((480, 4), 12)
>>> provider = mesh.connectivities()          # for `offset_provider=`
>>> provider["C2E"].codomain
Dimension('Edge', horizontal)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

import fieldforge as ff

from .mesh_order import breadth_first, cube_curve
from .mesh_rows import in_rows

Points: TypeAlias = NDArray[np.float64]  # (n, 3) on the unit sphere
Table: TypeAlias = NDArray[np.int32]  # (points, neighbours); -1 stands for none
Indices: TypeAlias = NDArray[np.int64]
Order: TypeAlias = Literal["curve", "breadth-first", "shuffled"]

DIRECTIONS: Final = 1 << 12  # neighbours are much farther from each other than such an angle

Cell, Edge, Vertex = (ff.Dimension(name) for name in ("Cell", "Edge", "Vertex"))
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)

C2EDim, C2VDim, E2CDim, E2VDim, V2EDim, V2CDim, C2E2CDim, C2E2CODim, E2C2VDim, E2C2EDim = (
    ff.Dimension(name, ff.DimensionKind.LOCAL)
    for name in (
        "C2E", "C2V", "E2C", "E2V", "V2E", "V2C", "C2E2C", "C2E2CO", "E2C2V", "E2C2E",
    )
)  # fmt: skip
C2E = ff.FieldOffset("C2E", source=Edge, target=(Cell, C2EDim))
C2V = ff.FieldOffset("C2V", source=Vertex, target=(Cell, C2VDim))
E2C = ff.FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
E2V = ff.FieldOffset("E2V", source=Vertex, target=(Edge, E2VDim))
V2E = ff.FieldOffset("V2E", source=Edge, target=(Vertex, V2EDim))
V2C = ff.FieldOffset("V2C", source=Cell, target=(Vertex, V2CDim))
C2E2C = ff.FieldOffset("C2E2C", source=Cell, target=(Cell, C2E2CDim))
C2E2CO = ff.FieldOffset("C2E2CO", source=Cell, target=(Cell, C2E2CODim))
E2C2V = ff.FieldOffset("E2C2V", source=Vertex, target=(Edge, E2C2VDim))
E2C2E = ff.FieldOffset("E2C2E", source=Edge, target=(Edge, E2C2EDim))
OFFSETS: Final = (C2E, C2V, E2C, E2V, V2E, V2C, C2E2C, C2E2CO, E2C2V, E2C2E)


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Points on the unit sphere and tables of neighbours; what a column means holds for all rows.

    * `C2V`: counter-clockwise from outside; edge `C2E[c, k]` joins vertex `C2V[c, k]` and the next.
    * `E2V`: from the beginning of the edge to its end.
    * `E2C`: the cell to the right of the edge, then that to its left; the normal of the edge, 90
      degrees to the left of its tangent, points from the first to the second.
    * `E2C2V`: the ends of the edge, then the far vertices of its first and second cell.
    * `E2C2E`: the two other edges of the first cell, then those of the second.
    * `C2E2C[c, k]` is the cell beyond `C2E[c, k]`; `C2E2CO` has the cell itself first.
    * `V2E` and `V2C`: counter-clockwise, -1 in the sixth column of the twelve pentagons.
    """

    tables: Mapping[str, Table]
    cell_points: Points
    edge_points: Points
    vertex_points: Points

    @property
    def cells(self) -> int:
        """How many triangles there are."""
        return len(self.cell_points)

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.edge_points)

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return len(self.vertex_points)

    def connectivities(self) -> dict[str, Any]:
        """Return the tables as an offset provider."""
        return {
            offset.value: ff.as_connectivity(
                offset.target,
                codomain=offset.source,
                data=self.tables[offset.value],
                skip_value=-1 if offset in (V2E, V2C) else None,
            )
            for offset in OFFSETS
        }


def icosahedral(root: int, bisections: int, order: Order = "curve", seed: int = 0) -> Mesh:
    """Make the mesh R<root>B<bisections>: 20 n^2 4^k cells, 30 n^2 4^k edges.

    Args:
        root: into how many parts each edge of the icosahedron is divided.
        bisections: how often all edges are halved after that.
        order: how elements are numbered. "curve" follows Hilbert curves on the faces of a cube, so
            that neighbours are near and each run of numbers is a compact patch; "breadth-first"
            goes in rings around a vertex; "shuffled" is the worst, to show what an order is worth.
        seed: of the shuffled order.
    """
    points, triangles = _icosahedron()
    points, triangles = _divide(points, triangles, root)
    for _ in range(bisections):
        points, triangles = _divide(points, triangles, 2)
    points, triangles = _renumbered(points, triangles, order, seed)
    ends, sides = _edges(triangles)
    ends, sides, triangles = _sorted(points, ends, sides, triangles, order, seed)
    return _with_tables(points, triangles, ends, sides)


def _unit(points: Points) -> Points:
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True))


def _icosahedron() -> tuple[Points, Indices]:
    """Twelve vertices, a pole first and last; twenty triangles, counter-clockwise from outside."""
    ring = np.arange(5) * (2 * np.pi / 5)
    height = 1 / np.sqrt(5)
    upper = np.stack([2 * height * np.cos(ring), 2 * height * np.sin(ring), 0 * ring + height], 1)
    points = np.concatenate([[[0.0, 0.0, 1.0]], upper, -upper, [[0.0, 0.0, -1.0]]])
    near = points @ points.T > 0.4  # 1/sqrt(5) between neighbours
    a, b, c = np.nonzero(near[:, :, None] & near[:, None, :] & near[None, :, :])
    triangles = np.stack([a, b, c], axis=1)[(a < b) & (b < c)]
    outward = np.linalg.det(points[triangles]) > 0
    triangles[~outward] = triangles[~outward][:, [0, 2, 1]]
    return points, triangles


def _divide(points: Points, triangles: Indices, parts: int) -> tuple[Points, Indices]:
    """Divide each triangle into `parts` squared, with the new points on the sphere."""
    i, j = (each.ravel() for each in np.indices((parts + 1, parts + 1)))
    i, j = i[i + j <= parts], j[i + j <= parts]  # `parts - i - j`, i, j: barycentric, in parts
    number = np.full((parts + 1, parts + 1), -1)
    number[i, j] = np.arange(len(i))
    ends, sides = _edges(triangles)
    lattice = np.empty((len(triangles), len(i)), np.int64)
    lattice[:, number[[0, parts, 0], [0, 0, parts]]] = triangles
    step = np.arange(1, parts)
    for side, (si, sj) in enumerate(
        ((step, 0 * step), (parts - step, step), (0 * step, parts - step))
    ):
        forward = triangles[:, side] == ends[sides[:, side], 0]
        along = np.where(forward[:, None], step, parts - step) - 1
        lattice[:, number[si, sj]] = len(points) + sides[:, side, None] * (parts - 1) + along
    inside = number[i, j][(i > 0) & (j > 0) & (i + j < parts)]
    first = len(points) + len(ends) * (parts - 1)
    count = len(triangles) * len(inside)
    lattice[:, inside] = first + np.arange(count).reshape(len(triangles), -1)
    weights = np.stack([parts - i - j, i, j], axis=1) / parts
    divided = np.empty((first + count, 3))
    made = np.einsum("pv,tvx->tpx", weights, points[triangles]).reshape(-1, 3)
    divided[lattice.ravel()] = in_rows(_unit, made)
    divided[: len(points)] = points
    return divided, lattice[:, _small_triangles(number, parts)].reshape(-1, 3)


def _small_triangles(number: Indices, parts: int) -> Indices:
    """Return the triangles of a divided one, by the numbers of its points; (parts^2, 3)."""
    i, j = (each.ravel() for each in np.indices((parts, parts)))
    i, j = i[i + j < parts], j[i + j < parts]
    up = np.stack([number[i, j], number[i + 1, j], number[i, j + 1]], axis=1)
    i, j = i[i + j < parts - 1], j[i + j < parts - 1]
    down = np.stack([number[i + 1, j], number[i + 1, j + 1], number[i, j + 1]], axis=1)
    return np.concatenate([up, down])


def _edges(triangles: Indices) -> tuple[Indices, Indices]:
    """Return the ends of each edge, the smaller first, and the three edges of each triangle."""
    a, b = triangles, np.roll(triangles, -1, axis=1)
    count = int(triangles.max()) + 1
    keys = (np.minimum(a, b) * count + np.maximum(a, b)).ravel()
    order = np.argsort(keys)
    is_new = np.diff(keys[order], prepend=-1) > 0
    sides = np.empty_like(keys)
    sides[order] = np.cumsum(is_new) - 1
    return np.stack(np.divmod(keys[order[is_new]], count), axis=1), sides.reshape(triangles.shape)


def _renumbered(
    points: Points, triangles: Indices, order: Order, seed: int
) -> tuple[Points, Indices]:
    """Return the vertices in the order asked for."""
    match order:
        case "curve":
            chosen = np.argsort(in_rows(cube_curve, points), kind="stable")
        case "breadth-first":
            chosen = breadth_first(_edges(triangles)[0], len(points))
        case "shuffled":
            chosen = np.random.default_rng(seed).permutation(len(points))
        case _:
            raise ValueError(
                f"Unknown order '{order}', expected 'curve', 'breadth-first' or 'shuffled'."
            )
    return points[chosen], _inverse(chosen)[triangles]


def _sorted(
    points: Points, ends: Indices, sides: Indices, triangles: Indices, order: Order, seed: int
) -> tuple[Indices, Indices, Indices]:
    """Return edges and cells in the same order: by their own place, or by their vertices."""
    match order:
        case "curve":
            by_edge, by_cell = (
                np.argsort(
                    in_rows(lambda of: cube_curve(_middles(points[of])), each), kind="stable"
                )
                for each in (ends, triangles)
            )
        case "breadth-first":
            by_edge = np.lexsort((ends[:, 1], ends[:, 0]))
            by_cell = np.lexsort(np.sort(triangles, axis=1).T[::-1])
        case _:
            numbers = np.random.default_rng(seed + 1)
            by_edge, by_cell = (numbers.permutation(len(each)) for each in (ends, triangles))
    return ends[by_edge], _inverse(by_edge)[sides[by_cell]], triangles[by_cell]


def _inverse(permutation: Indices) -> Indices:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def _with_tables(points: Points, c2v: Indices, e2v: Indices, c2e: Indices) -> Mesh:
    """Make all tables from three; edge k of a cell goes from its vertex k to the next one."""
    cells, edges = np.arange(len(c2v))[:, None], np.arange(len(e2v))
    to_the_left = c2v == e2v[c2e, 0]  # cells are counter-clockwise: they lie left of such an edge
    e2c = np.empty((len(e2v), 2), np.int64)
    e2c[c2e, to_the_left.astype(int)] = cells
    others, far = np.hsplit(in_rows(partial(_beside, c2e, c2v), e2c, edges), [4])
    c2e2c = in_rows(partial(_beyond, e2c), c2e, cells)
    edge_points = in_rows(lambda ends: _middles(points[ends]), e2v)
    cell_points = in_rows(lambda corners: _centres(points[corners]), c2v)
    tables = {
        "C2E": c2e, "C2V": c2v, "E2C": e2c, "E2V": e2v,
        "V2E": _around(points, e2v, edge_points), "V2C": _around(points, c2v, cell_points),
        "C2E2C": c2e2c, "C2E2CO": np.concatenate([cells, c2e2c], axis=1),
        "E2C2V": np.concatenate([e2v, far], axis=1), "E2C2E": others,
    }  # fmt: skip
    return Mesh(
        tables={name: np.ascontiguousarray(table, np.int32) for name, table in tables.items()},
        cell_points=cell_points, edge_points=edge_points, vertex_points=points,
    )  # fmt: skip


def _beside(c2e: Indices, c2v: Indices, e2c: Indices, edges: Indices) -> Indices:
    """Return the other edges of both cells of edges, and the far vertices; (edges, 4 + 2)."""
    slot = np.argmax(c2e[e2c] == edges[:, None, None], axis=2)  # of the edge in its cells
    others = [c2e[e2c[:, [n]], (slot[:, n, None] + [1, 2]) % 3] for n in (0, 1)]
    return np.concatenate([*others, c2v[e2c, (slot + 2) % 3]], axis=1)


def _beyond(e2c: Indices, c2e: Indices, cells: Indices) -> Indices:
    """Return the cells on the other side of the edges of cells."""
    either = e2c[c2e]
    return np.where(either[..., 0] == cells, either[..., 1], either[..., 0])


def _middles(ends: Points) -> Points:
    """Return the point of the sphere in the middle of several; (n, ends, 3) to (n, 3)."""
    return _unit(ends.sum(1))


def _centres(corners: Points) -> Points:
    """Return the centres of the circles through three points each; (n, 3, 3) to (n, 3)."""
    a, b, c = np.moveaxis(corners, 1, 0)
    return _unit(np.cross(b - a, c - a))


def _around(points: Points, of: Indices, at: Points) -> Indices:
    """Return the elements of each vertex, counter-clockwise; `of` has the vertices of each."""
    vertex, element = of.ravel(), np.repeat(np.arange(len(of)), of.shape[1])
    order = np.argsort(in_rows(partial(_place_around, points, at), vertex, element))
    vertex, element = vertex[order], element[order]
    degrees = np.bincount(vertex, minlength=len(points))
    around = np.full((len(points), 6), -1)
    around[np.arange(6) < degrees[:, None]] = element
    return around


def _place_around(points: Points, at: Points, vertex: Indices, element: Indices) -> Indices:
    """Return numbers in the order of the vertices, and of the angles of elements around each."""
    z = points[vertex]
    east = _unit(np.cross([0.3, 0.2, 0.1], z))  # any direction that is no vertex
    way = at[element] - z
    angle = np.arctan2((np.cross(z, east) * way).sum(1), (east * way).sum(1))
    return np.asarray(vertex * DIRECTIONS + (angle * (0.4 * DIRECTIONS / np.pi)).astype(np.int64))
