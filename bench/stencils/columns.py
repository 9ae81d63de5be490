"""Three schemes that act column by column, in GTScript: `while`, other levels written, a search.

Field types are the text "F" and the scalars are of type "T", so that `dtypes` gives the precision.
"""

from __future__ import annotations

from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import FORWARD, IJ, PARALLEL, Field, computation, exp, interval

MOST = 20  # steps of Newton's method
VAPOUR_GAS, HEATING, PRESSURE = 461.51, 3484.9, 610.78
MELTING, SLOPE, POLE = 273.16, 17.2693882, 35.86


@gtscript.function
def saturation(t, per_density):
    off_pole = 1.0 / (t - POLE)
    return PRESSURE * exp(SLOPE * (t - MELTING) * off_pole) * per_density / t


def adjustment(
    t: Field["F"],
    vapour: Field["F"],
    cloud: Field["F"],
    density: Field["F"],
    new_t: Field["F"],
    new_vapour: Field["F"],
    new_cloud: Field["F"],
    near: "T",
):
    """Newton's method at each point until the temperature rests."""
    with computation(PARALLEL), interval(...):
        per_density = 1.0 / (density * VAPOUR_GAS)
        water = vapour + cloud
        dry = t - HEATING * cloud
        warm = dry
        held = water
        most = saturation(dry, per_density)
        if water > most:
            steps = 0
            warm = t
            change = 1.0 + near
            while abs(change) > near and steps < MOST:
                off_pole = 1.0 / (warm - POLE)
                held = PRESSURE * exp(SLOPE * (warm - MELTING) * off_pole) * per_density / warm
                growth = held * (SLOPE * (MELTING - POLE) * off_pole * off_pole - 1.0 / warm)
                change = (warm - dry + HEATING * (held - water)) / (1.0 + HEATING * growth)
                warm = warm - change
                steps += 1
        new_t = warm
        new_vapour = held
        new_cloud = water - held


def sedimentation(
    rain: Field["F"],
    density: Field["F"],
    depth: Field["F"],
    new_rain: Field["F"],
    fallen: Field[IJ, "F"],
    dt: "T",
    substeps: int,
):
    """Rain falls into the level below, in steps so short that it crosses no level."""
    with computation(PARALLEL), interval(...):
        new_rain = rain
    with computation(FORWARD), interval(0, -1):
        n = 0
        while n < substeps:
            speed = 36.34 * (density * new_rain) ** 0.1364
            lost = min(speed * (dt / (depth * substeps)), 1.0) * new_rain
            new_rain = new_rain - lost
            gained = lost * (density * depth) / (density[0, 0, 1] * depth[0, 0, 1])
            new_rain[0, 0, 1] = new_rain[0, 0, 1] + gained
            n += 1
    with computation(FORWARD), interval(-1, None):
        lost = min(36.34 * (density * new_rain) ** 0.1364 * dt / depth, 1.0) * new_rain
        fallen = lost * density * depth
        new_rain = new_rain - lost


def remapping(
    q: Field["F"],
    left: Field["F"],
    right: Field["F"],
    curve: Field["F"],
    old: Field["F"],
    new: Field["F"],
    depth: Field["F"],
    out: Field["F"],
    level: Field[IJ, int],
):
    """Means over new levels of parabolas in the old ones; `level` is the old level that is met."""
    with computation(FORWARD), interval(0, 1):
        level = 0
    with computation(FORWARD), interval(0, -1):
        upper = (new - old[0, 0, level]) / depth[0, 0, level]
        if new[0, 0, 1] <= old[0, 0, level + 1]:
            lower = (new[0, 0, 1] - old[0, 0, level]) / depth[0, 0, level]
            out = (
                left[0, 0, level]
                + 0.5
                * (curve[0, 0, level] + right[0, 0, level] - left[0, 0, level])
                * (lower + upper)
                - curve[0, 0, level] * (lower * (lower + upper) + upper * upper) / 3.0
            )
        else:
            total = (old[0, 0, level + 1] - new) * (
                left[0, 0, level]
                + 0.5
                * (curve[0, 0, level] + right[0, 0, level] - left[0, 0, level])
                * (1.0 + upper)
                - curve[0, 0, level] * (1.0 + upper * (1.0 + upper)) / 3.0
            )
            level += 1
            while old[0, 0, level + 1] < new[0, 0, 1]:
                total += depth[0, 0, level] * q[0, 0, level]
                level += 1
            part = new[0, 0, 1] - old[0, 0, level]
            share = part / depth[0, 0, level]
            total += part * (
                left[0, 0, level]
                + 0.5
                * share
                * (
                    right[0, 0, level]
                    - left[0, 0, level]
                    + curve[0, 0, level] * (1.0 - 2.0 / 3.0 * share)
                )
            )
            out = total / (new[0, 0, 1] - new)
        level -= 1
