"""Vertical advection of a wind component, implicit: a tridiagonal system for each column.

Crank-Nicolson with weights towards the new time level, as in the Runge-Kutta cores of limited-area
models (Baldauf et al., 2011, Monthly Weather Review 139, "Operational convective-scale numerical
weather prediction with the COSMO model"). Levels count downwards; `w` is the contravariant vertical
wind at interfaces, of which number k lies above level k, and `u` stands half a cell east of `w`.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import int32
from fieldforge.examples.precision import wpfloat
from fieldforge.experimental import concat_where

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]

NEW = 0.5 * (1.0 + 0.2)  # the weight of the new time level, off-centred for stability
OLD = 0.5 * (1.0 - 0.2)


@ff.scan_operator(axis=K, forward=True, init=(wpfloat(0.0), wpfloat(0.0)))
def eliminated(
    above: tuple[wpfloat, wpfloat], a: wpfloat, b: wpfloat, c: wpfloat, d: wpfloat
) -> tuple[wpfloat, wpfloat]:
    """Remove the lower diagonal; one division serves both results."""
    cp, dp = above
    inverse = wpfloat(1.0) / (b - a * cp)
    return c * inverse, (d - a * dp) * inverse


@ff.scan_operator(axis=K, forward=False, init=wpfloat(0.0))
def substituted(below: wpfloat, cp: wpfloat, dp: wpfloat) -> wpfloat:
    """Go back up: each unknown follows from the one below."""
    return dp - cp * below


@ff.field_operator
def wind_above(w: Levels) -> Levels:
    """Half the vertical wind through the upper face of a cell of `u`."""
    return wpfloat(0.25) * (w(I + 1) + w)


@ff.field_operator
def advected(
    u: Levels, u_before: Levels, w: Levels, tendency: Levels, per_step: wpfloat, last: int32
) -> Levels:
    """Return the tendency of `u_before` with vertical advection added."""
    up = concat_where(K > 0, wind_above(w), wpfloat(0.0))
    down = concat_where(K < last, wind_above(w)(K + 1), wpfloat(0.0))
    from_above = concat_where(K > 0, up * (u - u(K - 1)), wpfloat(0.0))
    from_below = concat_where(K < last, down * (u(K + 1) - u), wpfloat(0.0))
    a = wpfloat(-NEW) * up
    c = wpfloat(NEW) * down
    b = per_step - a - c
    d = per_step * u_before + tendency - wpfloat(OLD) * (from_above + from_below)
    cp, dp = eliminated(a, b, c, d)
    return per_step * (substituted(cp, dp) - u_before)


@ff.program
def advect(
    u: Levels,
    u_before: Levels,
    w: Levels,
    tendency: Levels,
    new_tendency: Levels,
    per_step: wpfloat,
    last: int32,
):
    """Write the new tendency on all levels, of which `last` is the lowest."""
    advected(u, u_before, w, tendency, per_step, last, out=new_tendency)
