"""Other physics: turbulence, radiation, the surface, chemistry."""

import numpy as np

from .adding import add, field, plane, zeros

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
