"""Precipitation: sedimentation, fluxes, evaporation."""

import numpy as np

from .adding import add, field

add(
    "melting layer",
    "t: Field[float]\nsnow: Field[float]\nrain: Field[float]\nlevel: Field[IJ, np.int32]",
    """
with computation(BACKWARD), interval(...):
    if t > 273.16 and level < 0:
        level = int32(K)
with computation(FORWARD), interval(1, None):
    if K >= level and level >= 0:
        melts = min(snow[0, 0, -1], 0.1 * (t - 273.16) * snow[0, 0, -1])
        melts = max(melts, 0.0)
        rain = rain + melts
        snow = snow + snow[0, 0, -1] - melts
    else:
        snow = snow + snow[0, 0, -1]
""",
    arrays={
        "t": field(25, 265, 280), "snow": field(26), "rain": field(27),
        "level": np.full((3, 2), -1, "int32"),
    },
)  # fmt: skip

add(
    "accumulated by kind",
    "x: Field[IJK, (np.float64, (3,))]\nground: Field[IJ, (np.float64, (3,))]\n"
    "kind: Field[IJ, np.int64]",
    """
with computation(FORWARD), interval(...):
    ground[0, 0][0] = ground[0, 0][0] + x[0, 0, 0][0]
    ground[0, 0][kind] = ground[0, 0][kind] + 0.5 * x.A[kind]
    x[0, 0, 0][kind] = 0.5 * x[0, 0, 0][kind]
""",
    arrays={
        "x": np.random.default_rng(28).uniform(0, 1, (3, 2, 6, 3)), "ground": np.zeros((3, 2, 3)),
        "kind": np.array([[0, 1], [2, 1], [1, 0]]),
    },
)  # fmt: skip
