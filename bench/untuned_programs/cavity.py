"""A cavity with a lid that moves: a step of its plane flow, each of the four walls with its values.

Velocities on walls are given, also where the points beside them read them; in between there is
advection in flux form, diffusion and a pressure gradient.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import int32
from fieldforge.examples.precision import wpfloat
from fieldforge.experimental import concat_where

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], wpfloat]
HALO = 1


@ff.field_operator
def walled(
    x: Plane, west: wpfloat, east: wpfloat, south: wpfloat, north: wpfloat, nx: int32, ny: int32
) -> Plane:
    """Put the values of four walls around the points in between."""
    return concat_where(
        I < 1,
        west,
        concat_where(
            I > nx - 2,
            east,
            concat_where(J < 1, south, concat_where(J > ny - 2, north, x)),
        ),
    )


@ff.field_operator
def laplacian(x: Plane) -> Plane:
    """Five-point Laplacian."""
    return x(I + 1) + x(I - 1) + x(J + 1) + x(J - 1) - wpfloat(4.0) * x


@ff.field_operator
def moved(x: Plane, u: Plane, v: Plane) -> Plane:
    """Advection of a velocity by both, in flux form."""
    along_i = u(I + 1) * x(I + 1) - u(I - 1) * x(I - 1)
    return wpfloat(0.5) * (along_i + v(J + 1) * x(J + 1) - v(J - 1) * x(J - 1))


@ff.field_operator
def step(
    u: Plane, v: Plane, p: Plane, lid: wpfloat, leak: wpfloat, dt: wpfloat, nu: wpfloat,
    nx: int32, ny: int32,
) -> tuple[Plane, Plane]:  # fmt: skip
    """Return both velocities, on the walls as well."""
    zero, half = wpfloat(0.0), wpfloat(0.5)
    u_in = walled(u, zero, zero, zero, lid, nx, ny)
    v_in = walled(v, leak, -leak, zero, zero, nx, ny)
    du = nu * laplacian(u_in) - moved(u_in, u_in, v_in) - half * (p(I + 1) - p(I - 1))
    dv = nu * laplacian(v_in) - moved(v_in, u_in, v_in) - half * (p(J + 1) - p(J - 1))
    return (
        walled(u_in + dt * du, zero, zero, zero, lid, nx, ny),
        walled(v_in + dt * dv, leak, -leak, zero, zero, nx, ny),
    )


@ff.program
def program(
    u: Plane, v: Plane, p: Plane, lid: wpfloat, leak: wpfloat, dt: wpfloat, nu: wpfloat,
    new_u: Plane, new_v: Plane,
    nx: int32, ny: int32,
):  # fmt: skip
    """Write the cavity with its walls."""
    step(
        u, v, p, lid, leak, dt, nu, nx, ny,
        out=(new_u, new_v), domain={I: (0, nx), J: (0, ny)},
    )  # fmt: skip


FIELDS = dict.fromkeys(("u", "v", "p"), (I, J))
OUTPUTS = dict.fromkeys(("new_u", "new_v"), (I, J))
SCALARS = {"lid": 1.0, "leak": 0.1, "dt": 0.1, "nu": 0.2}
RANGES: dict[str, tuple[float, float]] = {}
