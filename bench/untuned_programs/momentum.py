"""A step of wind, density and temperature on triangles: 28 fields and tables, four outputs.

Kinetic energy, divergence, vorticity, smoothing and gradients, as in ICON's dynamical core; outputs
on edges, cells and vertices, from level 1 on since the vertical advection looks one level up.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import neighbor_sum
from fieldforge.examples.icosahedral import (
    C2E,
    C2E2C,
    E2C,
    E2V,
    V2C,
    V2E,
    C2E2CDim,
    C2EDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    K,
    V2CDim,
    V2EDim,
    Vertex,
)
from fieldforge.examples.precision import wpfloat

CellK = ff.Field[ff.Dims[Cell, K], wpfloat]
EdgeK = ff.Field[ff.Dims[Edge, K], wpfloat]
VertexK = ff.Field[ff.Dims[Vertex, K], wpfloat]
Cells = ff.Field[ff.Dims[Cell], wpfloat]
Edges = ff.Field[ff.Dims[Edge], wpfloat]
Vertices = ff.Field[ff.Dims[Vertex], wpfloat]
EdgesOfCells = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]
CellsOfCells = ff.Field[ff.Dims[Cell, C2E2CDim], wpfloat]
CellsOfEdges = ff.Field[ff.Dims[Edge, E2CDim], wpfloat]
EdgesOfVertices = ff.Field[ff.Dims[Vertex, V2EDim], wpfloat]
CellsOfVertices = ff.Field[ff.Dims[Vertex, V2CDim], wpfloat]


@ff.field_operator
def kinetic_energy(vn: EdgeK, vt: EdgeK, bilinear: EdgesOfCells) -> CellK:
    """Kinetic energy of the horizontal wind in cells."""
    return neighbor_sum((wpfloat(0.5) * (vn * vn + vt * vt))(C2E) * bilinear, axis=C2EDim)


@ff.field_operator
def divergence(vn: EdgeK, geofac_div: EdgesOfCells) -> CellK:
    """Divergence of the wind in cells."""
    return neighbor_sum(vn(C2E) * geofac_div, axis=C2EDim)


@ff.field_operator
def vorticity(vn: EdgeK, geofac_rot: EdgesOfVertices) -> VertexK:
    """Relative vorticity at vertices."""
    return neighbor_sum(vn(V2E) * geofac_rot, axis=V2EDim)


@ff.field_operator
def at_vertices(x: CellK, to_vertex: CellsOfVertices) -> VertexK:
    """Mean of the cells around a vertex."""
    return neighbor_sum(x(V2C) * to_vertex, axis=V2CDim)


@ff.field_operator
def along_normal(x: CellK, per_dual: Edges) -> EdgeK:
    """Gradient across an edge."""
    return (x(E2C[1]) - x(E2C[0])) * per_dual


@ff.field_operator
def along_tangent(x: VertexK, per_length: Edges, orientation: Edges) -> EdgeK:
    """Gradient along an edge."""
    return orientation * (x(E2V[1]) - x(E2V[0])) * per_length


@ff.field_operator
def new_wind(
    vn: EdgeK, vt: EdgeK, w: CellK, theta: CellK, exner: CellK,
    energy: CellK, div: CellK, zeta: VertexK, theta_v: VertexK,
    linear: CellsOfEdges, per_dual: Edges, per_length: Edges, orientation: Edges, coriolis: Edges,
    dtime: wpfloat, viscosity: wpfloat,
) -> EdgeK:  # fmt: skip
    """Advance the normal wind."""
    w_e = neighbor_sum(w(E2C) * linear, axis=E2CDim)
    theta_e = neighbor_sum(theta(E2C) * linear, axis=E2CDim)
    spin = coriolis + wpfloat(0.5) * neighbor_sum(zeta(E2V), axis=E2VDim)
    pressure = theta_e * along_normal(exner, per_dual)
    spread = along_normal(div, per_dual) - along_tangent(zeta, per_length, orientation)
    slope = along_tangent(theta_v, per_length, orientation)
    return vn + dtime * (
        vt * spin
        - along_normal(energy, per_dual)
        - pressure
        - w_e * (vn - vn(K - 1))
        + viscosity * (spread + slope)
    )


@ff.field_operator
def step(
    vn: EdgeK, vt: EdgeK, w: CellK, rho: CellK, theta: CellK, exner: CellK,
    bilinear: EdgesOfCells, geofac_div: EdgesOfCells, weights: CellsOfCells,
    geofac_rot: EdgesOfVertices, to_vertex: CellsOfVertices, linear: CellsOfEdges,
    per_dual: Edges, per_length: Edges, orientation: Edges, coriolis: Edges,
    share: Cells, coriolis_v: Vertices,
    dtime: wpfloat, viscosity: wpfloat,
) -> tuple[EdgeK, CellK, CellK, VertexK]:  # fmt: skip
    """Return new wind, density and temperature, and the potential vorticity."""
    energy = kinetic_energy(vn, vt, bilinear)
    div = divergence(vn, geofac_div)
    zeta = vorticity(vn, geofac_rot)
    theta_v = at_vertices(theta, to_vertex)
    new_vn = new_wind(
        vn, vt, w, theta, exner, energy, div, zeta, theta_v, linear, per_dual, per_length,
        orientation, coriolis, dtime, viscosity,
    )  # fmt: skip
    new_rho = rho - dtime * (rho * div + w * (rho - rho(K - 1)))
    smooth = neighbor_sum(theta(C2E2C) * weights, axis=C2E2CDim) - theta
    new_theta = theta + share * smooth - dtime * w * (theta - theta(K - 1))
    return new_vn, new_rho, new_theta, (zeta + coriolis_v) / theta_v


@ff.program
def program(
    vn: EdgeK, vt: EdgeK, w: CellK, rho: CellK, theta: CellK, exner: CellK,
    bilinear: EdgesOfCells, geofac_div: EdgesOfCells, weights: CellsOfCells,
    geofac_rot: EdgesOfVertices, to_vertex: CellsOfVertices, linear: CellsOfEdges,
    per_dual: Edges, per_length: Edges, orientation: Edges, coriolis: Edges,
    share: Cells, coriolis_v: Vertices,
    dtime: wpfloat, viscosity: wpfloat,
    new_vn: EdgeK, new_rho: CellK, new_theta: CellK, pv: VertexK,
    edges: ff.int32, cells: ff.int32, vertices: ff.int32, levels: ff.int32,
):  # fmt: skip
    """Write all levels but the highest."""
    step(
        vn, vt, w, rho, theta, exner, bilinear, geofac_div, weights, geofac_rot, to_vertex, linear,
        per_dual, per_length, orientation, coriolis, share, coriolis_v, dtime, viscosity,
        out=(new_vn, new_rho, new_theta, pv),
        domain=(
            {Edge: (0, edges), K: (1, levels)},
            {Cell: (0, cells), K: (1, levels)},
            {Cell: (0, cells), K: (1, levels)},
            {Vertex: (0, vertices), K: (1, levels)},
        ),
    )  # fmt: skip


FIELDS = {
    "vn": (Edge, K), "vt": (Edge, K),
    "w": (Cell, K), "rho": (Cell, K), "theta": (Cell, K), "exner": (Cell, K),
    "bilinear": (Cell, C2EDim), "geofac_div": (Cell, C2EDim), "weights": (Cell, C2E2CDim),
    "geofac_rot": (Vertex, V2EDim), "to_vertex": (Vertex, V2CDim), "linear": (Edge, E2CDim),
    "per_dual": (Edge,), "per_length": (Edge,), "orientation": (Edge,), "coriolis": (Edge,),
    "share": (Cell,), "coriolis_v": (Vertex,),
}  # fmt: skip
OUTPUTS = {"new_vn": (Edge, K), "new_rho": (Cell, K), "new_theta": (Cell, K), "pv": (Vertex, K)}
SCALARS = {"dtime": 0.5, "viscosity": 0.1}
RANGES = {"theta": (0.9, 1.1), "rho": (0.5, 1.5), "to_vertex": (0.1, 0.2), "share": (0.0, 0.2)}
