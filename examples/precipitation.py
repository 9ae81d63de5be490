"""Precipitation of six kinds of water: conversions at each point, then a scan in which four fall.

A one-moment scheme in the spirit of Kessler (1969), Meteorological Monographs 32, for warm rain and
of Lin, Farley and Orville (1983), Journal of Climate and Applied Meteorology 22, for ice: masses
only, particles that fall with a power of their mass. The powers are multiples of an eighth, which
square roots give. Levels count downwards; the fall is implicit in time, so no step is too long for
thin layers.
"""

from __future__ import annotations

from typing import NamedTuple

import fieldforge as ff
from fieldforge import maximum, minimum, sqrt, where
from fieldforge.examples.precision import wpfloat

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]

FREEZING = 273.15  # K
CONDENSING, MELTING_HEAT = 2.5008e6 / 717.6, 3.337e5 / 717.6  # K: heats over the air's capacity
LIQUID, SOLID = 4190.0 / 717.6, 2108.0 / 717.6  # heat capacities over the air's
CLOUD_LIMIT, ICE_LIMIT = 5.0e-4, 1.0e-4  # kg / kg that stay before droplets, crystals grow
DRIZZLE, AGGREGATION = 1.0e-3, 1.0e-3  # 1 / s
COLLECTION, RIMING = 2.2, 1.5  # 1 / s
MELTING, GLACIATION = 2.0e-3, 1.0e-4  # 1 / s / K
EVAPORATION = 0.5  # 1 / s
RAIN, ICE, SNOW, GRAUPEL = 29.0, 2.5, 5.0, 17.0  # m / s at 1 kg / m3
NONE = 1.0e-20  # kg / kg, less than any cloud


class Water(NamedTuple):
    """Mixing ratios of the six kinds, kg / kg."""

    vapour: Levels
    cloud: Levels
    rain: Levels
    ice: Levels
    snow: Levels
    graupel: Levels


class Falling(NamedTuple):
    """One kind of precipitation in a layer: what leaves it below, how fast, and what is in it."""

    flux: wpfloat  # kg / m2 / s
    speed: wpfloat  # m / s
    content: wpfloat  # kg / m3


class Layer(NamedTuple):
    """What the layer below has to know."""

    rain: Falling
    ice: Falling
    snow: Falling
    graupel: Falling
    capacity: wpfloat  # of the falling water, kg / m2 / s of air
    heat: wpfloat  # that it carries, K kg / m2 / s
    t: wpfloat  # K


NOTHING = Falling(flux=wpfloat(0.0), speed=wpfloat(0.0), content=wpfloat(0.0))


@ff.field_operator
def seven_eighths(x: Levels) -> Levels:
    """Return x to the power of 7/8."""
    half = sqrt(x)
    quarter = sqrt(half)
    return half * quarter * sqrt(quarter)


@ff.field_operator
def converted(t: Levels, water: Water, most: Levels, step: wpfloat) -> tuple[Levels, Water]:
    """Turn kinds of water into each other for `step` seconds; `most` is vapour at saturation."""
    zero, one = wpfloat(0.0), wpfloat(1.0)
    vapour, cloud, rain, ice, snow, graupel = water
    cold = t < wpfloat(FREEZING)

    grown = step * wpfloat(DRIZZLE) * maximum(cloud - wpfloat(CLOUD_LIMIT), zero)
    swept = step * wpfloat(COLLECTION) * cloud * seven_eighths(rain)
    riming = step * wpfloat(RIMING) * cloud
    on_snow = where(cold, riming * seven_eighths(snow), zero)
    on_graupel = where(cold, riming * seven_eighths(graupel), zero)
    wanted = grown + swept + on_snow + on_graupel
    share = minimum(one, cloud / maximum(wanted, wpfloat(NONE)))

    melts = minimum(one, step * wpfloat(MELTING) * maximum(t - wpfloat(FREEZING), zero))
    freezes = minimum(one, step * wpfloat(GLACIATION) * maximum(wpfloat(FREEZING) - t, zero))
    melted = melts * (ice + snow + graupel)
    frozen = freezes * rain
    crystals = ice - melts * ice
    clumped = step * wpfloat(AGGREGATION) * maximum(crystals - wpfloat(ICE_LIMIT), zero)
    thirst = step * wpfloat(EVAPORATION) * maximum(most - vapour, zero) * sqrt(rain)
    dried = minimum(rain - frozen, thirst)

    rimed = share * (on_snow + on_graupel)
    warmed = t + wpfloat(MELTING_HEAT) * (rimed + frozen - melted) - wpfloat(CONDENSING) * dried
    return warmed, Water(
        vapour=vapour + dried,
        cloud=cloud - share * wanted,
        rain=rain - frozen - dried + share * (grown + swept) + melted,
        ice=crystals - clumped,
        snow=snow - melts * snow + clumped + share * on_snow,
        graupel=graupel - melts * graupel + frozen + share * on_graupel,
    )


@ff.field_operator
def fall(above: Falling, content: wpfloat, lift: wpfloat, ratio: wpfloat) -> Falling:
    """Let one kind fall through a layer; `ratio` is the time step over the thickness."""
    there = wpfloat(0.5) * (content + above.content)
    own = lift * sqrt(sqrt(sqrt(there)))
    speed = wpfloat(0.5) * (own + above.speed)
    left = (content + ratio * above.flux) / (wpfloat(1.0) + ratio * speed)
    return Falling(flux=speed * left, speed=speed, content=left)


@ff.scan_operator(
    axis=K,
    forward=True,
    init=Layer(
        rain=NOTHING,
        ice=NOTHING,
        snow=NOTHING,
        graupel=NOTHING,
        capacity=wpfloat(0.0),
        heat=wpfloat(0.0),
        t=wpfloat(0.0),
    ),
)
def fallen(
    above: Layer,
    rain: wpfloat,
    ice: wpfloat,
    snow: wpfloat,
    graupel: wpfloat,
    t: wpfloat,
    density: wpfloat,
    thin: wpfloat,
    ratio: wpfloat,
) -> Layer:
    """Let all kinds fall through one layer; `thin` raises their speeds in thin air."""
    new_rain = fall(above.rain, rain, wpfloat(RAIN) * thin, ratio)
    new_ice = fall(above.ice, ice, wpfloat(ICE) * thin, ratio)
    new_snow = fall(above.snow, snow, wpfloat(SNOW) * thin, ratio)
    new_graupel = fall(above.graupel, graupel, wpfloat(GRAUPEL) * thin, ratio)
    mixing = ratio / density
    new_t = (t + mixing * above.heat) / (wpfloat(1.0) + mixing * above.capacity)
    solid = new_ice.flux + new_snow.flux + new_graupel.flux
    capacity = wpfloat(LIQUID) * new_rain.flux + wpfloat(SOLID) * solid
    return Layer(
        rain=new_rain,
        ice=new_ice,
        snow=new_snow,
        graupel=new_graupel,
        capacity=capacity,
        heat=capacity * new_t,
        t=new_t,
    )


@ff.field_operator
def precipitated(
    t: Levels, water: Water, most: Levels, density: Levels, thickness: Levels, step: wpfloat
) -> tuple[Levels, Water, Levels]:
    """Return temperature and water after the step, and the precipitation that leaves each layer."""
    warmed, now = converted(t, water, most, step)
    thin = sqrt(wpfloat(1.2) / density)
    new = fallen(
        now.rain * density,
        now.ice * density,
        now.snow * density,
        now.graupel * density,
        warmed,
        density,
        thin,
        step / thickness,
    )
    per_density = wpfloat(1.0) / density
    after = Water(
        vapour=now.vapour,
        cloud=now.cloud,
        rain=new.rain.content * per_density,
        ice=new.ice.content * per_density,
        snow=new.snow.content * per_density,
        graupel=new.graupel.content * per_density,
    )
    return new.t, after, new.rain.flux + new.ice.flux + new.snow.flux + new.graupel.flux


@ff.field_operator
def one_step(
    t: Levels,
    vapour: Levels,
    cloud: Levels,
    rain: Levels,
    ice: Levels,
    snow: Levels,
    graupel: Levels,
    most: Levels,
    density: Levels,
    thickness: Levels,
    step: wpfloat,
) -> tuple[Levels, Levels, Levels, Levels, Levels, Levels, Levels, Levels]:
    """Take the kinds of water one by one, as a model keeps them, and return them so."""
    water = Water(vapour=vapour, cloud=cloud, rain=rain, ice=ice, snow=snow, graupel=graupel)
    new_t, new, flux = precipitated(t, water, most, density, thickness, step)
    return new_t, new.vapour, new.cloud, new.rain, new.ice, new.snow, new.graupel, flux


@ff.program
def precipitate(
    t: Levels,
    vapour: Levels,
    cloud: Levels,
    rain: Levels,
    ice: Levels,
    snow: Levels,
    graupel: Levels,
    most: Levels,
    density: Levels,
    thickness: Levels,
    step: wpfloat,
    new_t: Levels,
    new_vapour: Levels,
    new_cloud: Levels,
    new_rain: Levels,
    new_ice: Levels,
    new_snow: Levels,
    new_graupel: Levels,
    flux: Levels,
):
    """Write the state after `step` seconds; the columns of the outputs begin at the top."""
    one_step(
        t, vapour, cloud, rain, ice, snow, graupel, most, density, thickness, step,
        out=(new_t, new_vapour, new_cloud, new_rain, new_ice, new_snow, new_graupel, flux),
    )  # fmt: skip
