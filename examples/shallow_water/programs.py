"""The TRiSK scheme for rotating shallow water, as field operators and two programs.

Ringler, Thuburn, Klemp & Skamarock (2010, Journal of Computational Physics 229): the thickness `h`
lives in cells, the normal velocity `u` on edges, potential vorticity on vertices. The flux of
potential vorticity is the form that conserves energy.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import neighbor_sum

from .grid import (
    C2E,
    E2C,
    E2E,
    E2V,
    V2C,
    V2E,
    C2EDim,
    Cell,
    E2E2CDim,
    Edge,
    V2CDim,
    V2EDim,
    Vertex,
)  # fmt: skip

OfCells = ff.Field[ff.Dims[Cell], ff.float64]
OfEdges = ff.Field[ff.Dims[Edge], ff.float64]
OfVertices = ff.Field[ff.Dims[Vertex], ff.float64]
CellEdges = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]
EdgeEdges = ff.Field[ff.Dims[Edge, E2E2CDim], ff.float64]
VertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
VertexCells = ff.Field[ff.Dims[Vertex, V2CDim], ff.float64]


@ff.field_operator
def mass_flux(h: OfCells, u: OfEdges) -> OfEdges:
    """Return the normal flux of mass: the mean thickness of both cells times the velocity."""
    return 0.5 * (h(E2C[0]) + h(E2C[1])) * u


@ff.field_operator
def potential_vorticity(
    h: OfCells, u: OfEdges, coriolis: OfVertices, curl: VertexEdges, share: VertexCells
) -> OfVertices:
    """Return absolute vorticity over thickness; `share` is the part of a cell in the triangle."""
    vorticity = neighbor_sum(u(V2E) * curl, axis=V2EDim)
    return (coriolis + vorticity) / neighbor_sum(h(V2C) * share, axis=V2CDim)


@ff.field_operator
def to_edges(q: OfVertices) -> OfEdges:
    """Return the mean of both ends of an edge."""
    return 0.5 * (q(E2V[0]) + q(E2V[1]))


@ff.field_operator
def bernoulli(
    h: OfCells, u: OfEdges, ground: OfCells, kinetic: CellEdges, gravity: ff.float64
) -> OfCells:
    """Return the potential of the surface plus the kinetic energy."""
    return gravity * (h + ground) + neighbor_sum(u(C2E) * u(C2E) * kinetic, axis=C2EDim)


@ff.program
def diagnose(
    h: OfCells,
    u: OfEdges,
    coriolis: OfVertices,
    ground: OfCells,
    curl: VertexEdges,
    share: VertexCells,
    kinetic: CellEdges,
    gravity: ff.float64,
    flux: OfEdges,
    q: OfVertices,
    q_edge: OfEdges,
    head: OfCells,
    flux_end: ff.int32,
    q_end: ff.int32,
    q_edge_end: ff.int32,
    head_end: ff.int32,
):
    """Write what the tendencies need: mass flux, potential vorticity, Bernoulli function."""
    mass_flux(h, u, out=flux, domain={Edge: (0, flux_end)})
    potential_vorticity(h, u, coriolis, curl, share, out=q, domain={Vertex: (0, q_end)})
    to_edges(q, out=q_edge, domain={Edge: (0, q_edge_end)})
    bernoulli(h, u, ground, kinetic, gravity, out=head, domain={Cell: (0, head_end)})


@ff.field_operator
def advanced_h(
    flux: OfEdges, divergence: CellEdges, h0: OfCells, h_sum: OfCells, a: ff.float64, w: ff.float64
) -> tuple[OfCells, OfCells]:
    """Return the next stage and the weighted sum of the tendencies of the thickness."""
    tendency = -neighbor_sum(flux(C2E) * divergence, axis=C2EDim)
    return h0 + a * tendency, h_sum + w * tendency


@ff.field_operator
def advanced_u(
    flux: OfEdges,
    q_edge: OfEdges,
    head: OfCells,
    tangential: EdgeEdges,
    per_distance: OfEdges,
    u0: OfEdges,
    u_sum: OfEdges,
    a: ff.float64,
    w: ff.float64,
) -> tuple[OfEdges, OfEdges]:
    """Return the next stage and the weighted sum of the tendencies of the velocity."""
    turning = neighbor_sum(flux(E2E) * tangential * (0.5 * (q_edge + q_edge(E2E))), axis=E2E2CDim)
    tendency = turning - (head(E2C[1]) - head(E2C[0])) * per_distance
    return u0 + a * tendency, u_sum + w * tendency


@ff.program
def advance(
    flux: OfEdges,
    q_edge: OfEdges,
    head: OfCells,
    divergence: CellEdges,
    tangential: EdgeEdges,
    per_distance: OfEdges,
    h0: OfCells,
    u0: OfEdges,
    h_sum: OfCells,
    u_sum: OfEdges,
    a: ff.float64,
    w: ff.float64,
    h_next: OfCells,
    u_next: OfEdges,
    h_sum_out: OfCells,
    u_sum_out: OfEdges,
    h_end: ff.int32,
    u_end: ff.int32,
):
    """Take one Runge-Kutta stage: `next = start + a * tendency`, `sum = sum + w * tendency`."""
    advanced_h(
        flux, divergence, h0, h_sum, a, w,
        out=(h_next, h_sum_out), domain={Cell: (0, h_end)},
    )  # fmt: skip
    advanced_u(
        flux, q_edge, head, tangential, per_distance, u0, u_sum, a, w,
        out=(u_next, u_sum_out), domain={Edge: (0, u_end)},
    )  # fmt: skip
