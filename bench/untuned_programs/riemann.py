"""Shallow water on triangles without levels: a flux for each edge, which both cells read.

First-order finite volumes with the fluxes of Harten, Lax and van Leer, a friction that is implicit
in time, and a reconstruction that keeps water at rest over an uneven bottom (Audusse et al., 2004,
SIAM Journal on Scientific Computing 25).
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import maximum, minimum, neighbor_sum, sqrt
from fieldforge.examples.icosahedral import C2E, E2C, C2EDim, Cell, Edge
from fieldforge.examples.precision import wpfloat

Cells = ff.Field[ff.Dims[Cell], wpfloat]
Edges = ff.Field[ff.Dims[Edge], wpfloat]
EdgesOfCells = ff.Field[ff.Dims[Cell, C2EDim], wpfloat]


@ff.field_operator
def fluxes(
    h: Cells, u: Cells, v: Cells, bottom: Cells, nx: Edges, ny: Edges, g: wpfloat
) -> tuple[Edges, Edges, Edges]:
    """Return mass and both momenta through edges, towards their second cell."""
    zero = wpfloat(0.0)
    step = maximum(bottom(E2C[0]), bottom(E2C[1]))
    h0 = maximum(zero, h(E2C[0]) + bottom(E2C[0]) - step)
    h1 = maximum(zero, h(E2C[1]) + bottom(E2C[1]) - step)
    across0 = u(E2C[0]) * nx + v(E2C[0]) * ny
    across1 = u(E2C[1]) * nx + v(E2C[1]) * ny
    along0 = v(E2C[0]) * nx - u(E2C[0]) * ny
    along1 = v(E2C[1]) * nx - u(E2C[1]) * ny
    c0, c1 = sqrt(g * h0), sqrt(g * h1)
    slow = minimum(zero, minimum(across0 - c0, across1 - c1))
    fast = maximum(zero, maximum(across0 + c0, across1 + c1))
    per = wpfloat(1.0) / (fast - slow + wpfloat(1.0e-12))
    mass0, mass1 = h0 * across0, h1 * across1
    push0 = mass0 * across0 + wpfloat(0.5) * g * h0 * h0
    push1 = mass1 * across1 + wpfloat(0.5) * g * h1 * h1
    mass = (fast * mass0 - slow * mass1 + slow * fast * (h1 - h0)) * per
    push = (fast * push0 - slow * push1 + slow * fast * (mass1 - mass0)) * per
    drift = (
        fast * mass0 * along0 - slow * mass1 * along1 + slow * fast * (h1 * along1 - h0 * along0)
    ) * per
    return mass, push * nx - drift * ny, push * ny + drift * nx


@ff.field_operator
def advanced(
    h: Cells, u: Cells, v: Cells, bottom: Cells, nx: Edges, ny: Edges, outward: EdgesOfCells,
    dt: wpfloat, g: wpfloat, friction: wpfloat,
) -> tuple[Cells, Cells, Cells]:  # fmt: skip
    """Return depth and velocities after a step; `outward` is length over area, with a sign."""
    mass, push_x, push_y = fluxes(h, u, v, bottom, nx, ny, g)
    new_h = h - dt * neighbor_sum(mass(C2E) * outward, axis=C2EDim)
    hu = h * u - dt * neighbor_sum(push_x(C2E) * outward, axis=C2EDim)
    hv = h * v - dt * neighbor_sum(push_y(C2E) * outward, axis=C2EDim)
    slowed = new_h * (wpfloat(1.0) + dt * friction * sqrt(u * u + v * v))
    return new_h, hu / slowed, hv / slowed


@ff.program
def program(
    h: Cells, u: Cells, v: Cells, bottom: Cells, nx: Edges, ny: Edges, outward: EdgesOfCells,
    dt: wpfloat, g: wpfloat, friction: wpfloat,
    new_h: Cells, new_u: Cells, new_v: Cells,
):  # fmt: skip
    """Write all cells."""
    advanced(
        h, u, v, bottom, nx, ny, outward, dt, g, friction, out=(new_h, new_u, new_v)
    )  # fmt: skip


FIELDS = {
    **dict.fromkeys(("h", "u", "v", "bottom"), (Cell,)), "nx": (Edge,), "ny": (Edge,),
    "outward": (Cell, C2EDim),
}  # fmt: skip
OUTPUTS = dict.fromkeys(("new_h", "new_u", "new_v"), (Cell,))
SCALARS = {"dt": 0.02, "g": 1.0, "friction": 0.1}
RANGES = {"h": (1.0, 1.5), "bottom": (0.0, 0.5)}
