"""Advective tendencies of the wind on a triangular mesh, as non-hydrostatic models compute them.

The vector-invariant form: gradient of the kinetic energy, Coriolis force with the vorticity added,
vertical advection (Zängl et al., 2015, Quarterly Journal of the Royal Meteorological Society 141,
"The ICON non-hydrostatic dynamical core"), here with all tendencies at full levels. The normal wind
`vn` and the tangential `vt` are on edges, the vertical wind `w` at half levels of cells: half level
k is the top of full level k. Where the vertical Courant number is too large, tendencies are damped.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import abs, neighbor_sum, where  # noqa: A004  (the language's, not Python's)

from .icosahedral import (
    C2E,
    E2C,
    E2V,
    V2C,
    V2E,
    C2EDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    K,
    V2CDim,
    V2EDim,
    Vertex,
)  # fmt: skip
from .precision import wpfloat

CellField = ff.Field[ff.Dims[Cell, K], wpfloat]
EdgeField = ff.Field[ff.Dims[Edge, K], wpfloat]
VertexField = ff.Field[ff.Dims[Vertex, K], wpfloat]
OfEdges = ff.Field[ff.Dims[Edge], wpfloat]
OfEdgeCells = ff.Field[ff.Dims[Edge, E2CDim], wpfloat]
OfCellEdges = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], wpfloat]
OfVertexCells = ff.Field[ff.Dims[Vertex, V2CDim], wpfloat]


@ff.field_operator
def at_full_levels(x: CellField) -> CellField:
    """Mean of the half levels above and below."""
    return wpfloat(0.5) * (x + x(K + 1))


@ff.field_operator
def vorticity(vn: EdgeField, rot: OfVertexEdges) -> VertexField:
    """Circulation around each vertex over the area it goes round."""
    return neighbor_sum(vn(V2E) * rot, axis=V2EDim)


@ff.field_operator
def kinetic_energy(vn: EdgeField, vt: EdgeField, bilinear: OfCellEdges) -> CellField:
    """Kinetic energy of the horizontal wind, brought from edges to cells."""
    on_edges = wpfloat(0.5) * (vn * vn + vt * vt)
    return neighbor_sum(on_edges(C2E) * bilinear, axis=C2EDim)


@ff.field_operator
def tendency_of_vn(
    vn: EdgeField,
    vt: EdgeField,
    vn_half: EdgeField,
    w_con: CellField,
    per_depth_e: EdgeField,
    rot: OfVertexEdges,
    bilinear: OfCellEdges,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    orientation: OfEdges,
    per_length: OfEdges,
    per_dual: OfEdges,
    dtime: wpfloat,
    limit: wpfloat,
    damping: wpfloat,
) -> EdgeField:
    """Advection of the normal wind; damped along the curl where the vertical wind is too fast."""
    zeta = vorticity(vn, rot)
    energy = kinetic_energy(vn, vt, bilinear)
    w_edge = neighbor_sum(w_con(E2C) * linear, axis=E2CDim)
    spin = coriolis + wpfloat(0.5) * neighbor_sum(zeta(E2V), axis=E2VDim)
    climb = (energy(E2C[1]) - energy(E2C[0])) * per_dual
    lift = w_edge * (vn_half - vn_half(K + 1)) * per_depth_e
    tendency = -(climb + vt * spin + lift)
    curl = (zeta(E2V[1]) - zeta(E2V[0])) * (per_length * orientation)
    too_fast = abs(w_edge) * dtime * per_depth_e > limit
    return where(too_fast, tendency - damping * curl, tendency)


@ff.field_operator
def tendency_of_w(
    vn: EdgeField,
    vt: EdgeField,
    w: CellField,
    w_con: CellField,
    courant: CellField,
    per_depth_c: CellField,
    bilinear: OfCellEdges,
    to_vertex: OfVertexCells,
    orientation: OfEdges,
    per_length: OfEdges,
    per_dual: OfEdges,
    limit: wpfloat,
    damping: wpfloat,
) -> CellField:
    """Advection of the vertical wind; damped by what the Courant number has too much."""
    w_cell = at_full_levels(w)
    w_vertex = neighbor_sum(w_cell(V2C) * to_vertex, axis=V2CDim)
    across = vn * ((w_cell(E2C[1]) - w_cell(E2C[0])) * per_dual)
    along = vt * ((w_vertex(E2V[1]) - w_vertex(E2V[0])) * (per_length * orientation))
    drift = across + along
    lift = w_con * (w - w(K + 1)) * per_depth_c
    brake = where(courant > limit, damping * (courant - limit) * w_con, wpfloat(0.0))
    return -(neighbor_sum(drift(C2E) * bilinear, axis=C2EDim) + lift + brake)


@ff.field_operator
def tendencies(
    vn: EdgeField,
    vt: EdgeField,
    vn_half: EdgeField,
    w: CellField,
    w_terrain: CellField,
    per_depth_e: EdgeField,
    per_depth_c: CellField,
    rot: OfVertexEdges,
    to_vertex: OfVertexCells,
    bilinear: OfCellEdges,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    orientation: OfEdges,
    per_length: OfEdges,
    per_dual: OfEdges,
    dtime: wpfloat,
    limit: wpfloat,
    damping: wpfloat,
) -> tuple[EdgeField, CellField, CellField]:
    """Tendencies of `vn` and `w`, and the vertical Courant number."""
    w_con = at_full_levels(w - w_terrain)
    courant = abs(w_con) * dtime * per_depth_c
    ddt_vn = tendency_of_vn(
        vn, vt, vn_half, w_con, per_depth_e, rot, bilinear, linear, coriolis,
        orientation, per_length, per_dual, dtime, limit, damping,
    )  # fmt: skip
    ddt_w = tendency_of_w(
        vn, vt, w, w_con, courant, per_depth_c, bilinear, to_vertex,
        orientation, per_length, per_dual, limit, damping,
    )  # fmt: skip
    return ddt_vn, ddt_w, courant


@ff.program
def velocity_tendency(
    vn: EdgeField,
    vt: EdgeField,
    vn_half: EdgeField,
    w: CellField,
    w_terrain: CellField,
    per_depth_e: EdgeField,
    per_depth_c: CellField,
    rot: OfVertexEdges,
    to_vertex: OfVertexCells,
    bilinear: OfCellEdges,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    orientation: OfEdges,
    per_length: OfEdges,
    per_dual: OfEdges,
    dtime: wpfloat,
    limit: wpfloat,
    damping: wpfloat,
    ddt_vn: EdgeField,
    ddt_w: CellField,
    courant: CellField,
):
    """Write the advective tendencies of the wind and the vertical Courant number.

    Args:
        vn: normal wind at edges.
        vt: tangential wind at edges.
        vn_half: normal wind at half levels.
        w: vertical wind at half levels.
        w_terrain: what of `w` follows the terrain.
        per_depth_e: one over the depth of a level at edges.
        per_depth_c: one over the depth of a level in cells.
        rot: weights of the edges of a vertex that give vorticity.
        to_vertex: weights of the cells of a vertex.
        bilinear: weights of the edges of a cell.
        linear: weights of the cells of an edge.
        coriolis: parameter at edges.
        orientation: 1 where the tangent goes from the first vertex of an edge to the second, or -1.
        per_length: one over the length of an edge.
        per_dual: one over the distance of the cells of an edge.
        dtime: length of a time step.
        limit: Courant number above which tendencies are damped.
        damping: how strongly.
        ddt_vn: tendency of `vn`.
        ddt_w: tendency of `w`, at full levels.
        courant: the vertical Courant number.
    """
    tendencies(
        vn, vt, vn_half, w, w_terrain, per_depth_e, per_depth_c, rot, to_vertex, bilinear, linear,
        coriolis, orientation, per_length, per_dual, dtime, limit, damping,
        out=(ddt_vn, ddt_w, courant),
    )  # fmt: skip
