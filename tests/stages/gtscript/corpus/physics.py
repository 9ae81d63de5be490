"""Other physics: turbulence, radiation, the surface, chemistry."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, plane, zeros

add(
    "height of the boundary layer",
    "theta: Field[float]\nz: Field[float]\nheight: Field[IJ, float]\nfound: Field[IJ, bool]",
    """
with computation(FORWARD), interval(0, 1):
    height = z
    found = False
    ground: Field[IJ, np.float64] = 0.0
    ground = theta
with computation(FORWARD), interval(1, None):
    if not found and theta > ground + 0.5:
        part = (ground + 0.5 - theta[0, 0, -1]) / (theta - theta[0, 0, -1])
        height = z[0, 0, -1] + part * (z - z[0, 0, -1])
        found = True
""",
    arrays={
        "theta": np.sort(field(80, 300, 303)), "z": np.sort(field(81, 0, 2000)), "height": flat(),
        "found": flat("bool"),
    },
)  # fmt: skip

add(
    "mixing lengths",
    "z: Field[float]\ntke: Field[float]\nn2: Field[float]\nlength: Field[float]",
    """
with computation(PARALLEL), interval(...):
    wall = 0.4 * z / (1.0 + 0.4 * z / 100.0)
    stable = 0.76 * sqrt(max(tke, 1e-6) / n2) if n2 > 1e-6 else 1e4
    length = min(wall, stable)
""",
    arrays={"z": field(82, 0, 500), "tke": field(83), "n2": field(84, -1e-4, 1e-4),
        "length": zeros()},
)  # fmt: skip

add(
    "implicit diffusion with fluxes at the ground",
    "x: Field[float]\nkh: Field[float]\ndz: Field[float]\nflux: Field[IJ, float]\ndt: float",
    """
with computation(PARALLEL):
    with interval(0, -1):
        up = dt * kh / (dz * dz)
    with interval(-1, None):
        up = 0.0
with computation(FORWARD):
    with interval(0, 1):
        down = 0.0
        x = x + dt * flux / dz
        b = 1.0 + up
        c = up / b
        x = x / b
    with interval(1, None):
        down = up[0, 0, -1]
        b = 1.0 + up + down - down * c[0, 0, -1]
        c = up / b
        x = (x + down * x[0, 0, -1]) / b
with computation(BACKWARD), interval(0, -1):
    x = x + c * x[0, 0, 1]
""",
    arrays={"x": field(85), "kh": field(86, 1, 5), "dz": field(87, 10, 20), "flux": plane(88)},
    scalars={"dt": ("float64", 10.0)},
)  # fmt: skip

add(
    "two streams",
    "tau: Field[float]\ndown: Field[float]\nup: Field[float]\nalbedo: Field[IJ, float]",
    """
with computation(BACKWARD):
    with interval(-1, None):
        down = exp(-tau)
    with interval(0, -1):
        down = down[0, 0, 1] * exp(-tau)
with computation(FORWARD):
    with interval(0, 1):
        up = albedo * down
    with interval(1, None):
        up = up[0, 0, -1] * exp(-tau)
""",
    arrays={"tau": field(89, 0, 0.5), "down": zeros(), "up": zeros(), "albedo": plane(90)},
)

add(
    "bands of radiation",
    "x: Field[float]\nband: Field[IJK, (np.float64, (4,))]\n"
    "weights: GlobalTable[(np.float64, (4, 2))]\nheat: Field[float]",
    """
with computation(PARALLEL), interval(...):
    band[0, 0, 0][0] = exp(-weights.A[0, 0] * x)
    band[0, 0, 0][1] = exp(-weights.A[1, 0] * x)
    band[0, 0, 0][2] = exp(-weights.A[2, 0] * x)
    band[0, 0, 0][3] = exp(-weights.A[3, 0] * x)
    heat = weights.A[0, 1] * band.A[0] + weights.A[1, 1] * band.A[1] + weights.A[2, 1] * band.A[2]
    heat = heat + weights.A[3, 1] * band.A[3]
""",
    arrays={
        "x": field(91, 0, 3), "band": zeros(4),
        "weights": np.random.default_rng(92).uniform(0, 1, (4, 2)), "heat": zeros(),
    },
)  # fmt: skip

add(
    "fluxes over sea and land",
    "wind: Field[IJ, float]\nt: Field[float]\nground: Field[IJ, float]\nsea: Field[IJ, bool]\n"
    "flux: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    rough: Field[IJ, np.float64] = 0.1
    if sea:
        rough = 0.011 * wind * wind / 9.81 + 1e-5
    n: Field[IJ, np.int64] = 0
    star: Field[IJ, np.float64] = 0.3
    while n < 3:
        star = 0.4 * wind / log(10.0 / rough)
        if sea:
            rough = 0.011 * star * star / 9.81 + 1e-5
        n += 1
    flux = star * 0.4 / log(10.0 / rough) * (ground - t)
""",
    arrays={
        "wind": plane(93, 3, 15), "t": field(94, 280, 290), "ground": plane(95, 280, 295),
        "sea": plane(96) > 0.5, "flux": flat(),
    },
)  # fmt: skip

add(
    "ozone between two months",
    "ozone: Field[float]\ntable: GlobalTable[(np.float64, (12, 6))]\nmonth: int\npart: float",
    """
with computation(PARALLEL), interval(...):
    later = month + 1 if month < 11 else 0
    ozone = (1.0 - part) * table.A[month, K] + part * table.A[later, K]
""",
    arrays={"ozone": zeros(), "table": np.random.default_rng(97).uniform(0, 1, (12, 6))},
    scalars={"month": ("int64", 11), "part": ("float64", 0.3)},
)

add(
    "chemistry of three species",
    "c: Field[IJK, (np.float64, (3,))]\nrates: Field[IJK, (np.float64, (3, 3))]\n"
    "light: Field[float]",
    """
with computation(PARALLEL), interval(...):
    rates[0, 0, 0][0, 0] = -light
    rates[0, 0, 0][1, 0] = light
    c = rates @ c
    if c[0, 0, 0][0] < 0.0:
        c[0, 0, 0][0] = 0.0
""",
    arrays={
        "c": np.random.default_rng(98).uniform(0, 1, (3, 2, 6, 3)),
        "rates": np.random.default_rng(99).uniform(-1, 1, (3, 2, 6, 3, 3)), "light": field(100),
    },
)  # fmt: skip

add(
    "snow and soil in single precision",
    "t: Field[np.float32]\nsnow: Field[IJ, np.float32]\nmelt: Field[IJ, np.float32]",
    """
with computation(FORWARD), interval(0, 1):
    heat = max(t - 273.16, 0.0)
    melt = min(snow, 0.1 * heat)
    snow = snow - melt
with computation(PARALLEL), interval(1, None):
    t = t - 0.01 * (t - 273.16)
""",
    arrays={
        "t": field(101, 265, 280).astype("float32"), "snow": plane(102).astype("float32"),
        "melt": flat("float32"),
    },
)  # fmt: skip
