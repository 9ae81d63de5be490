"""The operators of an icosahedral dynamical core in one program, by which layouts are compared.

Kinetic energy, divergence, vorticity, smoothing, vertex averages and gradients on triangles:
six fields with levels in, four out, six tables. Not a model: its results mean nothing together.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import neighbor_sum

from .icosahedral import (
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
from .precision import wpfloat

CellField = ff.Field[ff.Dims[Cell, K], wpfloat]
EdgeField = ff.Field[ff.Dims[Edge, K], wpfloat]
VertexField = ff.Field[ff.Dims[Vertex, K], wpfloat]
OfEdges = ff.Field[ff.Dims[Edge], wpfloat]
OfCells = ff.Field[ff.Dims[Cell], wpfloat]
OfEdgeCells = ff.Field[ff.Dims[Edge, E2CDim], wpfloat]
OfCellEdges = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]
OfCellCells = ff.Field[ff.Dims[Cell, C2E2CDim], wpfloat]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], wpfloat]
OfVertexCells = ff.Field[ff.Dims[Vertex, V2CDim], wpfloat]


@ff.field_operator
def on_cells(vn: EdgeField, vt: EdgeField, bilinear: OfCellEdges) -> CellField:
    """Kinetic energy of the horizontal wind, brought from edges to cells."""
    on_edges = wpfloat(0.5) * (vn * vn + vt * vt)
    return neighbor_sum(on_edges(C2E) * bilinear, axis=C2EDim)


@ff.field_operator
def on_vertices(x: CellField, to_vertex: OfVertexCells) -> VertexField:
    """Weighted mean of the cells around a vertex."""
    return neighbor_sum(x(V2C) * to_vertex, axis=V2CDim)


@ff.field_operator
def around_vertices(vn: EdgeField, rot: OfVertexEdges) -> VertexField:
    """Vorticity."""
    return neighbor_sum(vn(V2E) * rot, axis=V2EDim)


@ff.field_operator
def wind(
    vn: EdgeField,
    vt: EdgeField,
    theta: CellField,
    exner: CellField,
    bilinear: OfCellEdges,
    rot: OfVertexEdges,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    per_dual: OfEdges,
) -> EdgeField:
    """Tendency of the normal wind: kinetic energy, absolute vorticity, pressure."""
    energy = on_cells(vn, vt, bilinear)
    spin = coriolis + wpfloat(0.5) * neighbor_sum(around_vertices(vn, rot)(E2V), axis=E2VDim)
    climb = (energy(E2C[1]) - energy(E2C[0])) * per_dual
    push = neighbor_sum(theta(E2C) * linear, axis=E2CDim)
    return -(climb + vt * spin + push * (exner(E2C[1]) - exner(E2C[0])) * per_dual)


@ff.field_operator
def slope(x: CellField, to_vertex: OfVertexCells, per_length: OfEdges) -> EdgeField:
    """Gradient along the edge, of means at vertices."""
    means = on_vertices(x, to_vertex)
    return (means(E2V[1]) - means(E2V[0])) * per_length


@ff.field_operator
def smoothed(x: CellField, weights: OfCellCells, share: OfCells) -> CellField:
    """Move a cell towards its neighbours."""
    return x + share * (neighbor_sum(x(C2E2C) * weights, axis=C2E2CDim) - x)


@ff.field_operator
def tendencies(
    vn: EdgeField,
    vt: EdgeField,
    flux: EdgeField,
    rho: CellField,
    theta: CellField,
    exner: CellField,
    bilinear: OfCellEdges,
    divergence: OfCellEdges,
    weights: OfCellCells,
    share: OfCells,
    rot: OfVertexEdges,
    to_vertex: OfVertexCells,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    per_dual: OfEdges,
    per_length: OfEdges,
    dtime: wpfloat,
) -> tuple[EdgeField, EdgeField, CellField, CellField]:
    """Return tendency of the wind, slope, new density and smoothed temperature."""
    new_rho = rho - dtime * neighbor_sum(flux(C2E) * divergence, axis=C2EDim)
    return (
        wind(vn, vt, theta, exner, bilinear, rot, linear, coriolis, per_dual),
        slope(theta, to_vertex, per_length),
        new_rho,
        smoothed(theta, weights, share),
    )


@ff.program
def dynamics(
    vn: EdgeField,
    vt: EdgeField,
    flux: EdgeField,
    rho: CellField,
    theta: CellField,
    exner: CellField,
    bilinear: OfCellEdges,
    divergence: OfCellEdges,
    weights: OfCellCells,
    share: OfCells,
    rot: OfVertexEdges,
    to_vertex: OfVertexCells,
    linear: OfEdgeCells,
    coriolis: OfEdges,
    per_dual: OfEdges,
    per_length: OfEdges,
    dtime: wpfloat,
    ddt_vn: EdgeField,
    along: EdgeField,
    new_rho: CellField,
    new_theta: CellField,
):
    """Write what the operators give."""
    tendencies(
        vn, vt, flux, rho, theta, exner, bilinear, divergence, weights, share, rot, to_vertex,
        linear, coriolis, per_dual, per_length, dtime, out=(ddt_vn, along, new_rho, new_theta),
    )  # fmt: skip
