"""Saturation adjustment: condense or evaporate cloud water until the air is just saturated.

At constant volume, with the water and the energy of each point kept: Newton's method for the
temperature, four steps for each point whether it needs them or not. Saturation vapour pressure over
water after Murray (1967), Journal of Applied Meteorology 6, "On the computation of saturation vapor
pressure".
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import exp, where
from fieldforge.examples.precision import wpfloat

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]

VAPOUR_GAS = 461.51  # J / kg / K, the gas constant of water vapour
HEATING = 2.5008e6 / 717.6  # K: latent heat over the heat capacity of air at constant volume
PRESSURE, MELTING = 610.78, 273.16  # Pa and K at the triple point
SLOPE, POLE = 17.2693882, 35.86  # the fit of Murray, over water
STEEPNESS = SLOPE * (MELTING - POLE)


@ff.field_operator
def saturation(t: Levels, per_density: Levels) -> tuple[Levels, Levels]:
    """Return the mixing ratio at saturation and its derivative by temperature."""
    off_pole = wpfloat(1.0) / (t - wpfloat(POLE))
    per_t = wpfloat(1.0) / t
    pressure = wpfloat(PRESSURE) * exp(wpfloat(SLOPE) * (t - wpfloat(MELTING)) * off_pole)
    ratio = pressure * per_density * per_t
    growth = wpfloat(STEEPNESS) * off_pole * off_pole - per_t
    return ratio, ratio * growth


@ff.field_operator
def newton_step(t: Levels, dry: Levels, water: Levels, per_density: Levels) -> Levels:
    """Move `t` towards the temperature at which vapour beyond saturation has heated the air."""
    ratio, slope = saturation(t, per_density)
    excess = t - dry + wpfloat(HEATING) * (ratio - water)
    return t - excess / (wpfloat(1.0) + wpfloat(HEATING) * slope)


@ff.field_operator
def adjusted(
    t: Levels, vapour: Levels, cloud: Levels, density: Levels
) -> tuple[Levels, Levels, Levels]:
    """Return temperature, vapour and cloud water after the adjustment."""
    per_density = wpfloat(1.0) / (density * wpfloat(VAPOUR_GAS))
    water = vapour + cloud
    dry = t - wpfloat(HEATING) * cloud  # as if all cloud had evaporated
    most, _ = saturation(dry, per_density)
    first = newton_step(t, dry, water, per_density)
    second = newton_step(first, dry, water, per_density)
    third = newton_step(second, dry, water, per_density)
    fourth = newton_step(third, dry, water, per_density)
    held, _ = saturation(fourth, per_density)
    cloudy = water > most
    return (
        where(cloudy, fourth, dry),
        where(cloudy, held, water),
        where(cloudy, water - held, wpfloat(0.0)),
    )


@ff.program
def adjust(
    t: Levels,
    vapour: Levels,
    cloud: Levels,
    density: Levels,
    new_t: Levels,
    new_vapour: Levels,
    new_cloud: Levels,
):
    """Write the adjusted state over the whole domain of the outputs."""
    adjusted(t, vapour, cloud, density, out=(new_t, new_vapour, new_cloud))
