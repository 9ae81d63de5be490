"""Horizontal diffusion on triangles with Smagorinsky's coefficient, limited from both sides.

The coefficient follows from the deformation at edges; wind, temperature and vertical wind are
diffused with it, the vertical wind from level 1 on with the mean of two levels. The flux of heat
is not to overshoot the neighbours of a cell.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import max_over, maximum, min_over, minimum, neighbor_sum, sqrt
from fieldforge.examples.icosahedral import (
    C2E,
    C2E2C,
    E2C,
    E2V,
    V2E,
    C2E2CDim,
    C2EDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
)
from fieldforge.examples.precision import wpfloat

CellK = ff.Field[ff.Dims[Cell, K], wpfloat]
EdgeK = ff.Field[ff.Dims[Edge, K], wpfloat]
THIRD = 1.0 / 3.0
Cells = ff.Field[ff.Dims[Cell], wpfloat]
Edges = ff.Field[ff.Dims[Edge], wpfloat]
EdgesOfCells = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]
CellsOfEdges = ff.Field[ff.Dims[Edge, E2CDim], wpfloat]
EdgesOfVertices = ff.Field[ff.Dims[Vertex, V2EDim], wpfloat]


@ff.field_operator
def diffused(
    vn: EdgeK, theta: CellK, w: CellK, geofac_div: EdgesOfCells, geofac_rot: EdgesOfVertices,
    linear: CellsOfEdges, per_dual: Edges, per_length: Edges, area: Edges, area_c: Cells,
    factor: wpfloat, least: wpfloat, most: wpfloat,
) -> tuple[EdgeK, CellK, CellK, EdgeK]:  # fmt: skip
    """Return wind, temperature, vertical wind, and the coefficient."""
    div = neighbor_sum(vn(C2E) * geofac_div, axis=C2EDim)
    zeta = neighbor_sum(vn(V2E) * geofac_rot, axis=V2EDim)
    stretching = neighbor_sum(div(E2C) * linear, axis=E2CDim)
    shearing = wpfloat(0.5) * neighbor_sum(zeta(E2V), axis=E2VDim)
    deformation = sqrt(stretching * stretching + shearing * shearing)
    kh = maximum(least, minimum(most, factor * deformation - least))

    nabla = (div(E2C[1]) - div(E2C[0])) * per_dual - (zeta(E2V[1]) - zeta(E2V[0])) * per_length
    new_vn = vn + area * kh * nabla

    flux = kh * (theta(E2C[1]) - theta(E2C[0])) * per_dual
    heated = theta + area_c * neighbor_sum(flux(C2E) * geofac_div, axis=C2EDim)
    around = theta(C2E2C)
    low = minimum(theta, min_over(around, axis=C2E2CDim))
    high = maximum(theta, max_over(around, axis=C2E2CDim))
    new_theta = maximum(low, minimum(high, heated))

    kh_c = wpfloat(THIRD) * neighbor_sum(kh(C2E), axis=C2EDim)
    kh_half = wpfloat(0.5) * (kh_c + kh_c(K - 1))
    mean = wpfloat(THIRD) * neighbor_sum(w(C2E2C), axis=C2E2CDim)
    new_w = w + area_c * kh_half * (mean - w)
    return new_vn, new_theta, new_w, kh


@ff.program
def program(
    vn: EdgeK, theta: CellK, w: CellK, geofac_div: EdgesOfCells, geofac_rot: EdgesOfVertices,
    linear: CellsOfEdges, per_dual: Edges, per_length: Edges, area: Edges, area_c: Cells,
    factor: wpfloat, least: wpfloat, most: wpfloat,
    new_vn: EdgeK, new_theta: CellK, new_w: CellK, kh: EdgeK,
    edges: ff.int32, cells: ff.int32, levels: ff.int32,
):  # fmt: skip
    """Write wind and temperature on all levels, the vertical wind below the highest."""
    diffused(
        vn, theta, w, geofac_div, geofac_rot, linear, per_dual, per_length, area, area_c,
        factor, least, most,
        out=(new_vn, new_theta, new_w, kh),
        domain=(
            {Edge: (0, edges), K: (0, levels)},
            {Cell: (0, cells), K: (0, levels)},
            {Cell: (0, cells), K: (1, levels)},
            {Edge: (0, edges), K: (0, levels)},
        ),
    )  # fmt: skip


FIELDS = {
    "vn": (Edge, K), "theta": (Cell, K), "w": (Cell, K),
    "geofac_div": (Cell, C2EDim), "geofac_rot": (Vertex, V2EDim), "linear": (Edge, E2CDim),
    "per_dual": (Edge,), "per_length": (Edge,), "area": (Edge,), "area_c": (Cell,),
}  # fmt: skip
OUTPUTS = {"new_vn": (Edge, K), "new_theta": (Cell, K), "new_w": (Cell, K), "kh": (Edge, K)}
SCALARS = {"factor": 0.3, "least": 0.01, "most": 0.4}
RANGES = {"area": (0.1, 0.3), "area_c": (0.1, 0.3), "per_dual": (0.5, 1.0)}
