"""Warm rain: saturation, conversions and evaporation at each point, then drops fall in a scan.

In the spirit of Kessler (1969), Meteorological Monographs 32. The fall is implicit in time, with a
speed that grows with the content above. Levels count downwards.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import maximum, minimum, sqrt, where
from fieldforge.examples.precision import wpfloat

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]
HALO = 0


@ff.scan_operator(axis=K, forward=True, init=(wpfloat(0.0), wpfloat(0.0)))
def falling(
    above: tuple[wpfloat, wpfloat], rain: wpfloat, rho: wpfloat, ratio: wpfloat
) -> tuple[wpfloat, wpfloat]:
    """Return the flux out of a level and the rain that stays."""
    flux, content = above
    speed = wpfloat(5.0) * sqrt(sqrt(wpfloat(0.5) * (rho * rain + content)))
    left = (rho * rain + ratio * flux) / (wpfloat(1.0) + ratio * speed)
    return speed * left, left


@ff.field_operator
def converted(
    t: Levels, qv: Levels, qc: Levels, qr: Levels, pressure: Levels, dtime: wpfloat
) -> tuple[Levels, Levels, Levels, Levels]:
    """Turn vapour, cloud and rain into each other."""
    zero = wpfloat(0.0)
    warmth = t - wpfloat(1.0)
    most = wpfloat(0.4) * (wpfloat(1.0) + warmth * (wpfloat(2.0) + warmth)) / pressure
    excess = (qv - most) / (wpfloat(1.0) + wpfloat(0.8) * most)
    condensed = where(excess > zero, excess, -minimum(-excess, qc))
    cloud = qc + condensed

    drizzle = where(cloud > wpfloat(0.2), dtime * (cloud - wpfloat(0.2)), zero)
    swept = where(qr > zero, dtime * wpfloat(0.5) * cloud * sqrt(qr * sqrt(qr)), zero)
    rained = minimum(drizzle + swept, cloud)
    thirst = dtime * wpfloat(0.3) * maximum(most - qv, zero) * sqrt(maximum(qr, zero))
    dried = where(cloud - rained > zero, zero, minimum(thirst, qr))
    return (
        t + wpfloat(0.3) * (condensed - dried),
        qv - condensed + dried,
        cloud - rained,
        qr + rained - dried,
    )


@ff.field_operator
def showered(
    t: Levels, qv: Levels, qc: Levels, qr: Levels, pressure: Levels, rho: Levels,
    per_depth: Levels, dtime: wpfloat,
) -> tuple[Levels, Levels, Levels, Levels, Levels]:  # fmt: skip
    """Return temperature, the three waters, and the flux of rain."""
    new_t, new_qv, new_qc, rain = converted(t, qv, qc, qr, pressure, dtime)
    flux, content = falling(rain, rho, dtime * per_depth)
    return new_t, new_qv, new_qc, content / rho, flux


@ff.program
def program(
    t: Levels, qv: Levels, qc: Levels, qr: Levels, pressure: Levels, rho: Levels,
    per_depth: Levels, dtime: wpfloat,
    new_t: Levels, new_qv: Levels, new_qc: Levels, new_qr: Levels, flux: Levels,
    nx: ff.int32, ny: ff.int32, nz: ff.int32,
):  # fmt: skip
    """Write all levels."""
    showered(
        t, qv, qc, qr, pressure, rho, per_depth, dtime,
        out=(new_t, new_qv, new_qc, new_qr, flux), domain={I: (0, nx), J: (0, ny), K: (0, nz)},
    )  # fmt: skip


FIELDS = dict.fromkeys(("t", "qv", "qc", "qr", "pressure", "rho", "per_depth"), (I, J, K))
OUTPUTS = dict.fromkeys(("new_t", "new_qv", "new_qc", "new_qr", "flux"), (I, J, K))
SCALARS = {"dtime": 0.5}
RANGES = {
    "t": (0.8, 1.2), "qv": (0.0, 1.0), "qc": (0.0, 0.5), "qr": (0.0, 0.3),
    "pressure": (0.8, 1.2), "rho": (0.8, 1.2), "per_depth": (0.2, 0.6),
}  # fmt: skip
