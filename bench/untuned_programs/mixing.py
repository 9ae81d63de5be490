"""Two tracers in a limited area: upwind advection along levels, implicit mixing between them.

The coefficient of mixing follows from the shear of the wind and the stratification; both tracers
are solved with the same matrix in one sweep down and one up. Levels count downwards.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import int32, maximum, minimum, sqrt
from fieldforge.examples.precision import wpfloat
from fieldforge.experimental import concat_where

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]
HALO = 1


@ff.scan_operator(axis=K, forward=True, init=(wpfloat(0.0), wpfloat(0.0), wpfloat(0.0)))
def eliminated(
    above: tuple[wpfloat, wpfloat, wpfloat],
    a: wpfloat, b: wpfloat, c: wpfloat, d: wpfloat, e: wpfloat,
) -> tuple[wpfloat, wpfloat, wpfloat]:  # fmt: skip
    """Remove the lower diagonal for two right-hand sides."""
    cp, dp, ep = above
    inverse = wpfloat(1.0) / (b - a * cp)
    return c * inverse, (d - a * dp) * inverse, (e - a * ep) * inverse


@ff.scan_operator(axis=K, forward=False, init=(wpfloat(0.0), wpfloat(0.0)))
def substituted(
    below: tuple[wpfloat, wpfloat], cp: wpfloat, dp: wpfloat, ep: wpfloat
) -> tuple[wpfloat, wpfloat]:
    """Solve from the lowest level up."""
    d, e = below
    return dp - cp * d, ep - cp * e


@ff.field_operator
def carried(x: Levels, u: Levels, v: Levels, ratio: wpfloat) -> Levels:
    """Upwind advection with the wind in cells."""
    zero = wpfloat(0.0)
    along_i = maximum(u, zero) * (x - x(I - 1)) + minimum(u, zero) * (x(I + 1) - x)
    along_j = maximum(v, zero) * (x - x(J - 1)) + minimum(v, zero) * (x(J + 1) - x)
    return x - ratio * (along_i + along_j)


@ff.field_operator
def exchange(
    u: Levels, v: Levels, theta: Levels, per_depth: Levels, length: wpfloat, g: wpfloat
) -> Levels:
    """Coefficient of mixing through the upper face of a level; zero where stratification wins."""
    du, dv = u - u(K - 1), v - v(K - 1)
    shear = (du * du + dv * dv) * per_depth * per_depth
    stable = g * (theta(K - 1) - theta) * per_depth / theta
    return length * length * sqrt(maximum(shear - stable, wpfloat(0.0))) * per_depth


@ff.field_operator
def mixed(
    vapour: Levels, smoke: Levels, u: Levels, v: Levels, theta: Levels, per_depth: Levels,
    dtime: wpfloat, ratio: wpfloat, length: wpfloat, g: wpfloat, last: int32,
) -> tuple[Levels, Levels]:  # fmt: skip
    """Return both tracers after advection and mixing."""
    through = exchange(u, v, theta, per_depth, length, g)
    top = concat_where(K > 0, through, wpfloat(0.0))
    bottom = concat_where(K < last, through(K + 1), wpfloat(0.0))
    a = -dtime * top * per_depth
    c = -dtime * bottom * per_depth
    b = wpfloat(1.0) - a - c
    d, e = carried(vapour, u, v, ratio), carried(smoke, u, v, ratio)
    cp, dp, ep = eliminated(a, b, c, d, e)
    return substituted(cp, dp, ep)


@ff.program
def program(
    vapour: Levels, smoke: Levels, u: Levels, v: Levels, theta: Levels, per_depth: Levels,
    dtime: wpfloat, ratio: wpfloat, length: wpfloat, g: wpfloat, last: int32,
    new_vapour: Levels, new_smoke: Levels,
    nx: int32, ny: int32, nz: int32,
):  # fmt: skip
    """Write both tracers on all levels, of which `last` is the lowest."""
    mixed(
        vapour, smoke, u, v, theta, per_depth, dtime, ratio, length, g, last,
        out=(new_vapour, new_smoke), domain={I: (0, nx), J: (0, ny), K: (0, nz)},
    )  # fmt: skip


FIELDS = dict.fromkeys(("vapour", "smoke", "u", "v", "theta", "per_depth"), (I, J, K))
OUTPUTS = dict.fromkeys(("new_vapour", "new_smoke"), (I, J, K))
SCALARS = {"dtime": 0.5, "ratio": 0.1, "length": 0.5, "g": 0.5}
RANGES = {"vapour": (0.0, 1.0), "smoke": (0.0, 1.0), "theta": (0.9, 1.1), "per_depth": (0.5, 1.5)}
