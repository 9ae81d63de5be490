"""Microphysics: falling species, freezing, evaporation, sums over categories."""

import numpy as np

from .adding import add, field, flat, zeros

add(
    "fall from the highest level with precipitation",
    "q: Field[float]\ndz: Field[float]\nground: Field[IJ, float]\ntop: Field[IJ, np.int64]\n"
    "dt: float",
    """
with computation(FORWARD), interval(0, 1):
    top = -1
with computation(FORWARD), interval(...):
    if top < 0 and q > 5e-4:
        top = K
with computation(FORWARD), interval(0, -1):
    if top >= 0 and K >= top:
        speed = 12.0 * max(q, 1e-9) ** 0.5
        moved = q * min(1.0, speed * dt / dz)
        q[0, 0, 1] = q[0, 0, 1] + moved * dz / dz[0, 0, 1]
        q = q - moved
with computation(FORWARD), interval(-1, None):
    if top >= 0:
        out = q * min(1.0, 12.0 * max(q, 1e-9) ** 0.5 * dt / dz)
        ground = ground + out * dz
        q = q - out
""",
    arrays={
        "q": field(200, 0, 1e-3), "dz": field(201, 50, 100), "ground": flat(),
        "top": flat("int64"),
    },
    scalars={"dt": ("float64", 60.0)},
)  # fmt: skip

add(
    "saturation over water and ice by two tables",
    "t: Field[float]\np: Field[float]\nqs: Field[float]\ndqs: Field[float]\n"
    "water: GlobalTable[(np.float64, (48,))]\nice: GlobalTable[(np.float64, (48,))]",
    """
with computation(PARALLEL), interval(...):
    bounded = min(max(t, 233.5), 279.5) - 233.0
    at: int64 = int64(floor(bounded))
    part = bounded - floor(bounded)
    over_water = water.A[at] + part * (water.A[at + 1] - water.A[at])
    slope = water.A[at + 1] - water.A[at]
    if t < 273.16:
        weight = max(0.0, (t - 233.16) / 40.0)
        over_ice = ice.A[at] + part * (ice.A[at + 1] - ice.A[at])
        slope = weight * slope + (1.0 - weight) * (ice.A[at + 1] - ice.A[at])
        over_water = weight * over_water + (1.0 - weight) * over_ice
    qs = 0.622 * over_water / (p - 0.378 * over_water)
    dqs = 0.622 * p * slope / ((p - 0.378 * over_water) * (p - 0.378 * over_water))
""",
    arrays={
        "t": field(208, 230, 283), "p": field(209, 3e4, 1e5), "qs": zeros(), "dqs": zeros(),
        "water": 611.0 * np.exp(np.linspace(-3.0, 0.5, 48)),
        "ice": 611.0 * np.exp(np.linspace(-3.4, 0.1, 48)),
    },
)  # fmt: skip
