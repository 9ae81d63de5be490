"""Precipitation: sedimentation, fluxes, evaporation."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, zeros

add(
    "sedimentation from level to level",
    "qr: Field[float]\ndp: Field[float]\nrain: Field[IJ, float]\ndt: float",
    """
with computation(FORWARD), interval(0, -1):
    speed = 5.0 * sqrt(max(qr, 0.0))
    falls = min(qr, speed * dt * qr / dp)
    qr[0, 0, 1] = qr[0, 0, 1] + falls * dp / dp[0, 0, 1]
    qr = qr - falls
with computation(FORWARD), interval(-1, None):
    falls = min(qr, 5.0 * sqrt(max(qr, 0.0)) * dt * qr / dp)
    rain = rain + falls * dp
    qr = qr - falls
""",
    arrays={"qr": field(10, 0, 2e-3), "dp": field(11, 0.5, 2), "rain": flat()},
    scalars={"dt": ("float64", 10.0)},
)

add(
    "implicit fall",
    "q: Field[float]\nv: Field[float]\ndz: Field[float]\nflux: Field[float]\ndt: float",
    """
with computation(FORWARD):
    with interval(0, 1):
        q = q * dz / (dz + dt * v)
        flux = q * v
    with interval(1, None):
        q = (q * dz + dt * flux[0, 0, -1]) / (dz + dt * v)
        flux = q * v
""",
    arrays={"q": field(12), "v": field(13, 0.1, 2), "dz": field(14, 100, 200), "flux": zeros()},
    scalars={"dt": ("float64", 60.0)},
)

add(
    "time splitting of fall",
    "q: Field[float]\nv: Field[float]\ndz: Field[float]\nground: Field[IJ, float]\ndt: float",
    """
with computation(FORWARD), interval(0, 1):
    courant = 0.0
with computation(FORWARD), interval(...):
    most: Field[IJ, np.float64] = 0.0
    most = max(most, v * dt / dz)
with computation(PARALLEL), interval(...):
    steps = 1 + int64(floor(most))
    step = 0
    part = q
    while step < steps:
        part = part - part * v * (dt / float64(steps)) / dz
        step += 1
with computation(FORWARD), interval(...):
    ground = ground + (q - part) * dz
    q = part
""",
    arrays={
        "q": field(15), "v": field(16, 0.5, 4), "dz": field(17, 100, 200), "ground": flat(),
    },
    scalars={"dt": ("float64", 60.0)},
)  # fmt: skip

add(
    "evaporation below clouds",
    "flux: Field[float]\nq: Field[float]\nqs: Field[float]\nt: Field[float]\ndp: Field[float]",
    """
with computation(FORWARD), interval(1, None):
    deficit = max(qs - q, 0.0)
    lost = 0.0
    if flux[0, 0, -1] > 1e-4:
        lost = min(flux[0, 0, -1], 0.2 * deficit * sqrt(flux[0, 0, -1]))
        q = q + lost / dp
        t = t - 2.5 * lost / dp
    flux = flux + flux[0, 0, -1] - lost
""",
    arrays={
        "flux": field(18, -0.1, 0.2), "q": field(19), "qs": field(20, 0.2, 1.2),
        "t": field(21, 270, 290), "dp": field(22, 1, 2),
    },
)  # fmt: skip

add(
    "filling of negative water",
    "q: Field[float]\ndp: Field[float]\nlack: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, -1):
    if q < 0.0:
        q[0, 0, 1] = q[0, 0, 1] + q * dp / dp[0, 0, 1]
        q = 0.0
with computation(BACKWARD), interval(1, None):
    if q < 0.0:
        take = min(-q * dp, max(q[0, 0, -1], 0.0) * dp[0, 0, -1])
        q[0, 0, -1] = q[0, 0, -1] - take / dp[0, 0, -1]
        q = q + take / dp
with computation(FORWARD), interval(...):
    lack = lack + min(q, 0.0) * dp
""",
    arrays={"q": field(23, -0.5, 0.7), "dp": field(24, 1, 2), "lack": flat()},
)

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
