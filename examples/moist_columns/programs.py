"""One step of moist air in columns, as field operators and one program of three statements.

Each statement treats temperature, vapour and cloud water alike: transport along the edges of the
mesh (donor cell), vertical mixing (implicit, a tridiagonal system for each column), and saturation
adjustment (Newton's method, four steps). The sum of vapour and cloud water, and the temperature
less the heat of condensation, are conserved by each of them.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import exp, neighbor_sum, where

from ..saturation_adjustment import HEATING, MELTING, POLE, PRESSURE, SLOPE, STEEPNESS
from ..shallow_water.grid import C2E, E2C, C2EDim, Cell, Edge

K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Air = ff.Field[ff.Dims[Cell, K], ff.float64]
OfEdges = ff.Field[ff.Dims[Edge, K], ff.float64]
OfLevels = ff.Field[ff.Dims[K], ff.float64]
CellEdges = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]


@ff.field_operator
def carried(q: Air, wind: OfEdges) -> OfEdges:
    """Return the flux through the edges: what the upwind cell holds."""
    return wind * where(wind > 0.0, q(E2C[0]), q(E2C[1]))


@ff.field_operator
def moved(q: Air, wind: OfEdges, outflow: CellEdges, dt: ff.float64) -> Air:
    """Return a tracer after transport; `outflow` is the signed length of an edge over the area."""
    return q - dt * neighbor_sum(carried(q, wind)(C2E) * outflow, axis=C2EDim)


@ff.field_operator
def transported(
    t: Air, vapour: Air, cloud: Air, wind: OfEdges, outflow: CellEdges, dt: ff.float64
) -> tuple[Air, Air, Air]:
    """Return all three after transport."""
    return (
        moved(t, wind, outflow, dt),
        moved(vapour, wind, outflow, dt),
        moved(cloud, wind, outflow, dt),
    )


@ff.scan_operator(axis=K, forward=True, init=(0.0, 0.0))
def eliminated(
    above: tuple[float, float], a: float, b: float, c: float, d: float
) -> tuple[float, float]:
    """Remove the lower diagonal."""
    cp, dp = above
    pivot = b - a * cp
    return c / pivot, (d - a * dp) / pivot


@ff.scan_operator(axis=K, forward=False, init=0.0)
def substituted(below: float, cp: float, dp: float) -> float:
    """Go back up: each unknown follows from the one below."""
    return dp - cp * below


@ff.field_operator
def stirred(q: Air, a: OfLevels, b: OfLevels, c: OfLevels) -> Air:
    """Return a tracer after vertical mixing."""
    cp, dp = eliminated(a, b, c, q)
    return substituted(cp, dp)


@ff.field_operator
def mixed(
    t: Air, vapour: Air, cloud: Air, a: OfLevels, b: OfLevels, c: OfLevels
) -> tuple[Air, Air, Air]:
    """Return all three after vertical mixing."""
    return stirred(t, a, b, c), stirred(vapour, a, b, c), stirred(cloud, a, b, c)


@ff.field_operator
def saturation(t: Air, per_density: OfLevels) -> tuple[Air, Air]:
    """Return the mixing ratio at saturation and its derivative by temperature."""
    off_pole, per_t = 1.0 / (t - POLE), 1.0 / t
    ratio = PRESSURE * exp(SLOPE * (t - MELTING) * off_pole) * per_density * per_t
    return ratio, ratio * (STEEPNESS * off_pole * off_pole - per_t)


@ff.field_operator
def newton_step(t: Air, dry: Air, water: Air, per_density: OfLevels) -> Air:
    """Move `t` towards the temperature at which vapour beyond saturation has heated the air."""
    ratio, slope = saturation(t, per_density)
    return t - (t - dry + HEATING * (ratio - water)) / (1.0 + HEATING * slope)


@ff.field_operator
def condensed(t: Air, vapour: Air, cloud: Air, per_density: OfLevels) -> tuple[Air, Air, Air]:
    """Return all three after cloud has formed or evaporated; `per_density` is 1 / (density Rv)."""
    water, dry = vapour + cloud, t - HEATING * cloud
    most, _ = saturation(dry, per_density)
    first = newton_step(t, dry, water, per_density)
    second = newton_step(first, dry, water, per_density)
    third = newton_step(second, dry, water, per_density)
    fourth = newton_step(third, dry, water, per_density)
    cloudy = water > most
    # what is left of the last step is put into the vapour, so that the heat is that of the cloud
    new_cloud = where(cloudy, (fourth - dry) / HEATING, 0.0)
    return where(cloudy, fourth, dry), water - new_cloud, new_cloud


@ff.program
def step(
    t: Air,
    vapour: Air,
    cloud: Air,
    wind: OfEdges,
    outflow: CellEdges,
    a: OfLevels,
    b: OfLevels,
    c: OfLevels,
    per_density: OfLevels,
    dt: ff.float64,
    moved_t: Air,
    moved_vapour: Air,
    moved_cloud: Air,
    mixed_t: Air,
    mixed_vapour: Air,
    mixed_cloud: Air,
    new_t: Air,
    new_vapour: Air,
    new_cloud: Air,
    cells: ff.int32,
    levels: ff.int32,
):
    """Write the state after a step on the first `cells`; the fields between are work space."""
    transported(
        t, vapour, cloud, wind, outflow, dt,
        out=(moved_t, moved_vapour, moved_cloud), domain={Cell: (0, cells), K: (0, levels)},
    )  # fmt: skip
    mixed(
        moved_t, moved_vapour, moved_cloud, a, b, c,
        out=(mixed_t, mixed_vapour, mixed_cloud), domain={Cell: (0, cells), K: (0, levels)},
    )  # fmt: skip
    condensed(
        mixed_t, mixed_vapour, mixed_cloud, per_density,
        out=(new_t, new_vapour, new_cloud), domain={Cell: (0, cells), K: (0, levels)},
    )  # fmt: skip
