"""Water on triangles without levels: a flux through each edge, and its sum around each cell."""

from __future__ import annotations

import fieldforge as ff
from fieldforge import abs, neighbor_sum, sqrt  # noqa: A004
from fieldforge.examples.icosahedral import C2E, E2C, C2EDim, Cell, Edge
from fieldforge.examples.precision import wpfloat

OnCells = ff.Field[ff.Dims[Cell], wpfloat]
OnEdges = ff.Field[ff.Dims[Edge], wpfloat]
Signs = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]


@ff.field_operator
def edge_flux(h: OnCells, q: OnCells, vn: OnEdges, length: OnEdges, g: wpfloat) -> OnEdges:
    """Upwind by the fastest wave, from the cells on both sides."""
    depth = wpfloat(0.5) * (h(E2C[0]) + h(E2C[1]))
    speed = abs(vn) + sqrt(g * depth)
    total, jump = q(E2C[0]) + q(E2C[1]), q(E2C[1]) - q(E2C[0])
    return length * (vn * total - speed * jump) / (wpfloat(1.0) + depth)


@ff.field_operator
def updated(
    h: OnCells, q: OnCells, vn: OnEdges, length: OnEdges, sign: Signs, area: OnCells,
    g: wpfloat, dt: wpfloat,
) -> OnCells:  # fmt: skip
    """Each cell reads the fluxes of its three edges, and two cells read each edge."""
    flux = edge_flux(h, q, vn, length, g)
    return q - dt / area * neighbor_sum(flux(C2E) * sign, axis=C2EDim)


@ff.program
def advance(
    h: OnCells, q: OnCells, vn: OnEdges, length: OnEdges, sign: Signs, area: OnCells,
    g: wpfloat, dt: wpfloat, new: OnCells,
):  # fmt: skip
    """Write all cells."""
    updated(h, q, vn, length, sign, area, g, dt, out=new)
