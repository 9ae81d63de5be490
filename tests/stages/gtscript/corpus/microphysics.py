"""Microphysics: falling species, freezing, evaporation, sums over categories."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, plane, zeros

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
    "substeps of fall that end with the rain",
    "q: Field[float]\nv: Field[float]\ndz: Field[float]\nrounds: Field[IJ, np.int64]\ndt: float",
    """
with computation(FORWARD), interval(0, 1):
    rounds = 0
with computation(FORWARD), interval(...):
    left = dt
    while left > 0.0 and q > 1e-6:
        step = min(left, 0.5 * dz / v)
        q = q * (1.0 - v * step / dz)
        left -= step
        rounds += 1
""",
    arrays={
        "q": field(202, 0, 1e-4), "v": field(203, 1, 8), "dz": field(204, 50, 100),
        "rounds": flat("int64"),
    },
    scalars={"dt": ("float64", 40.0)},
)  # fmt: skip

add(
    "freezing that heats until it stops",
    "t: Field[float]\nql: Field[float]\nqi: Field[float]\ncount: Field[np.int32]",
    """
with computation(PARALLEL), interval(...):
    count = 0
    while t < 253.0 and ql > 1e-5 and count < 8:
        frozen = 0.3 * ql
        ql = ql - frozen
        qi = qi + frozen
        t = t + 336.0 * 10.0 * frozen
        count = count + 1
    if t > 273.16 and qi > 0.0:
        melted = min(qi, 1e-4 * (t - 273.16))
        qi -= melted
        ql += melted
        t -= 336.0 * melted
""",
    arrays={
        "t": field(205, 235, 280), "ql": field(206, 0, 1e-3), "qi": field(207, 0, 1e-3),
        "count": zeros(dtype="int32"),
    },
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

add(
    "the three warm processes in one sweep",
    "qc: Field[float]\nqr: Field[float]\nqv: Field[float]\nqs: Field[float]\nflux: Field[float]",
    """
with computation(BACKWARD):
    with interval(-1, None):
        flux = 0.0
        auto = max(qc - 5e-4, 0.0) * 0.1
        qc -= auto
        qr += auto
    with interval(0, -1):
        flux = flux[0, 0, 1] + 0.5 * qr[0, 0, 1]
        auto = max(qc - 5e-4, 0.0) * 0.1
        collected = min(qc - auto, 2.0 * qc * flux)
        dry = max(qs - qv, 0.0)
        lost = min(flux, 0.1 * dry) if dry > 0.0 else 0.0
        qc = qc - auto - collected
        qr = qr + auto + collected - lost * 0.5
        qv = qv + lost
        flux = flux - lost
""",
    arrays={
        "qc": field(210, 0, 1e-3), "qr": field(211, 0, 1e-3), "qv": field(212, 0, 1e-2),
        "qs": field(213, 5e-3, 1e-2), "flux": zeros(),
    },
)  # fmt: skip

add(
    "bins of drops that grow into the next",
    "n: Field[IJK, (np.float64, (4,))]\nrate: Field[float]\ntotal: Field[float]",
    """
with computation(PARALLEL), interval(...):
    grown = min(1.0, rate)
    n[0, 0, 0][3] = n[0, 0, 0][3] + 0.5 * grown * n[0, 0, 0][2]
    n[0, 0, 0][2] = n[0, 0, 0][2] * (1.0 - grown) + 0.5 * grown * n[0, 0, 0][1]
    n[0, 0, 0][1] = n[0, 0, 0][1] * (1.0 - grown) + 0.5 * grown * n[0, 0, 0][0]
    n[0, 0, 0][0] = n[0, 0, 0][0] * (1.0 - grown)
    total = n.A[0] + 2.0 * n.A[1] + 4.0 * n.A[2] + 8.0 * n.A[3]
""",
    arrays={
        "n": np.random.default_rng(214).uniform(0, 1, (3, 2, 6, 4)), "rate": field(215, 0, 1.5),
        "total": zeros(),
    },
)  # fmt: skip

add(
    "number and mass that stay consistent",
    "q: Field[np.float32]\nn: Field[np.float32]\nsize: Field[np.float32]",
    """
with computation(PARALLEL), interval(...):
    if q > 1e-4:
        size = (q / max(n, 1.0)) ** 0.33333
        if size > 0.05:
            size = 0.05
            n = q / (size * size * size)
        elif size < 0.002:
            size = 0.002
            n = q / (size * size * size)
    else:
        size = 0.0
        n = 0.0
""",
    arrays={
        "q": field(216, 0, 1e-3).astype("float32"), "n": field(217, 0, 1e4).astype("float32"),
        "size": zeros(dtype="float32"),
    },
)  # fmt: skip

add(
    "rain that evaporates below its base",
    "rain: Field[float]\nrh: Field[float]\nbase: Field[IJ, np.int64]\nlost: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    lost = 0.0
with computation(FORWARD), interval(1, None):
    if K > base:
        dry = max(1.0 - rh, 0.0)
        goes = min(rain[0, 0, -1], 0.3 * dry)
        rain = rain[0, 0, -1] - goes
        lost = lost + goes
    else:
        rain = rain + rain[0, 0, -1]
""",
    arrays={
        "rain": field(218), "rh": field(219, 0.3, 1.1), "base": np.array([[1, 3], [2, 5], [4, 0]]),
        "lost": plane(220),
    },
)  # fmt: skip
