"""A lid-driven cavity: velocities and pressure on a plane, walls by nested regions."""

from __future__ import annotations

import fieldforge as ff
from fieldforge.examples.precision import wpfloat
from fieldforge.experimental import concat_where

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], wpfloat]


@ff.field_operator
def stepped(
    u: Plane, v: Plane, p: Plane, lid: wpfloat, c: wpfloat, nu: wpfloat, last: ff.int32
) -> tuple[Plane, Plane, Plane]:
    """One explicit step; each field has its own values on the walls."""
    du, dv = u(I + 1) - u(I - 1), v(J + 1) - v(J - 1)
    round_u = u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - wpfloat(4.0) * u
    round_v = v(I + 1) + v(I - 1) + v(J + 1) + v(J - 1) - wpfloat(4.0) * v
    in_u = u - c * (u * du + v * (u(J + 1) - u(J - 1)) + p(I + 1) - p(I - 1)) + nu * round_u
    in_v = v - c * (u * (v(I + 1) - v(I - 1)) + v * dv + p(J + 1) - p(J - 1)) + nu * round_v
    in_p = wpfloat(0.25) * (p(I + 1) + p(I - 1) + p(J + 1) + p(J - 1) - c * (du + dv))
    still = wpfloat(0.0)
    wide_u = concat_where(I == 0, still, concat_where(last == I, still, in_u))
    wide_v = concat_where(I == 0, still, concat_where(last == I, still, in_v))
    wide_p = concat_where(I == 0, p(I + 1), concat_where(last == I, p(I - 1), in_p))
    return (
        concat_where(last == J, lid, concat_where(J == 0, still, wide_u)),
        concat_where(last == J, still, concat_where(J == 0, still, wide_v)),
        concat_where(last == J, p(J - 1), concat_where(J == 0, p(J + 1), wide_p)),
    )


@ff.program
def step(
    u: Plane, v: Plane, p: Plane, lid: wpfloat, c: wpfloat, nu: wpfloat, last: ff.int32,
    new_u: Plane, new_v: Plane, new_p: Plane,
):  # fmt: skip
    """Write all points, those on the walls too."""
    stepped(u, v, p, lid, c, nu, last, out=(new_u, new_v, new_p))
