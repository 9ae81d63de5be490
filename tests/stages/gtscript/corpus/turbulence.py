"""Turbulence, the surface and radiation: searches, iterations, sums over bands."""

import numpy as np

from .adding import add, field, flat, zeros

add(
    "turbulent energy with a length from above and below",
    "tke: Field[float]\nz: Field[float]\nlength: Field[float]\ndt: float",
    """
with computation(FORWARD):
    with interval(0, 1):
        up = 10.0
    with interval(1, None):
        up = up[0, 0, -1] + z - z[0, 0, -1]
with computation(BACKWARD):
    with interval(-1, None):
        down = 10.0
    with interval(0, -1):
        down = min(down[0, 0, 1] + z[0, 0, 1] - z, 300.0)
with computation(PARALLEL), interval(...):
    length = sqrt(up * down)
    tke = tke / (1.0 + dt * sqrt(tke) / (15.0 * length))
""",
    arrays={"tke": field(236, 0.01, 2), "z": np.sort(field(237, 0, 2000)), "length": zeros()},
    scalars={"dt": ("float64", 30.0)},
)

add(
    "gravity waves that break at the first critical level",
    "wind: Field[float]\nstress: Field[float]\ndrag: Field[float]\nbroken: Field[IJ, bool]",
    """
with computation(FORWARD), interval(0, 1):
    stress = 0.1 * wind * wind
    broken = False
    drag = 0.0
with computation(FORWARD), interval(1, None):
    limit = 0.05 * wind * wind * wind
    stress = stress[0, 0, -1]
    if wind * wind[0, 0, -1] <= 0.0 and not broken:
        stress = 0.0
        broken = True
    elif stress > limit:
        stress = max(limit, 0.0)
    drag = stress - stress[0, 0, -1]
""",
    arrays={
        "wind": field(246, -1, 4), "stress": zeros(), "drag": zeros(), "broken": flat("bool"),
    },
)  # fmt: skip
