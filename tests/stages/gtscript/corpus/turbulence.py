"""Turbulence, the surface and radiation: searches, iterations, sums over bands."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, halo, plane, zeros

add(
    "an interface that is found by iteration",
    "theta: Field[float]\nz: Field[float]\ninversion: Field[IJ, np.int64]\njump: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    inversion = 0
    level = 1
    steepest: Field[IJ, np.float64] = 0.0
    while level < 6:
        slope = (theta.at(K=level) - theta.at(K=level - 1)) / (z.at(K=level) - z.at(K=level - 1))
        if slope > steepest:
            steepest = slope
            inversion = level
        level += 1
    jump = 0.0
    if inversion > 0:
        jump = theta.at(K=inversion) - theta.at(K=inversion - 1)
""",
    arrays={
        "theta": np.sort(field(230, 290, 310)), "z": np.sort(field(231, 0, 3000)),
        "inversion": flat("int64"), "jump": flat(),
    },
)  # fmt: skip

add(
    "friction velocity by fixed rounds",
    "wind: Field[float]\nz: Field[float]\nstar: Field[IJ, float]\nrough: Field[IJ, float]\n"
    "heat: Field[IJ, float]",
    """
with computation(BACKWARD), interval(-1, None):
    n = 0
    length: Field[IJ, np.float64] = 1e6
    star = 0.3
    while n < 4:
        zeta = min(max(z / length, -2.0), 1.0)
        psi = -5.0 * zeta if zeta > 0.0 else 2.0 * log(0.5 * (1.0 + sqrt(1.0 - 16.0 * zeta)))
        star = max(0.4 * wind / (log(z / rough) - psi), 0.01)
        length = -star * star * star / (0.4 * 9.81 / 300.0 * heat)
        n += 1
""",
    arrays={
        "wind": field(232, 2, 12), "z": field(233, 10, 30), "star": flat(),
        "rough": plane(234, 0.01, 0.5), "heat": plane(235, 0.05, 0.3),
    },
)  # fmt: skip

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
    "smagorinsky viscosity",
    "u: Field[float]\nv: Field[float]\nnu: Field[float]\narea: Field[IJ, float]",
    """
with computation(PARALLEL), interval(...):
    shear = u[0, 1, 0] - u[0, -1, 0] + v[1, 0, 0] - v[-1, 0, 0]
    strain = u[1, 0, 0] - u[-1, 0, 0] - v[0, 1, 0] + v[0, -1, 0]
    nu = 0.04 * area * sqrt(shear * shear + strain * strain)
""",
    arrays={
        "u": field(238, -5, 5, 1), "v": field(239, -5, 5, 1), "nu": zeros(),
        "area": plane(240, 1, 2),
    },
    origin=halo("u", "v"),
)  # fmt: skip

add(
    "optical depth over bands from the top",
    "path: Field[float]\ntau: Field[IJK, (np.float64, (3,))]\n"
    "absorb: GlobalTable[(np.float64, (3,))]\nflux: Field[IJ, float]",
    """
with computation(BACKWARD):
    with interval(-1, None):
        tau[0, 0, 0][0] = absorb.A[0] * path
        tau[0, 0, 0][1] = absorb.A[1] * path
        tau[0, 0, 0][2] = absorb.A[2] * path
    with interval(0, -1):
        tau[0, 0, 0][0] = tau[0, 0, 1][0] + absorb.A[0] * path
        tau[0, 0, 0][1] = tau[0, 0, 1][1] + absorb.A[1] * path
        tau[0, 0, 0][2] = tau[0, 0, 1][2] + absorb.A[2] * path
with computation(FORWARD), interval(0, 1):
    flux = exp(-tau.A[0]) + exp(-tau.A[1]) + exp(-tau.A[2])
""",
    arrays={
        "path": field(241, 0, 0.2), "tau": zeros(3), "flux": flat(),
        "absorb": np.array([0.1, 1.0, 4.0]),
    },
)  # fmt: skip

add(
    "layers of snow that compact under load",
    "mass: Field[float]\nrho: Field[float]\ndepth: Field[IJ, float]\ndt: float",
    """
with computation(FORWARD), interval(0, 1):
    load: Field[IJ, np.float64] = 0.0
    depth = 0.0
with computation(FORWARD), interval(...):
    load = load + 0.5 * mass
    rho = rho * (1.0 + dt * load * 9.81 / (3e6 + 2e4 * rho))
    load = load + 0.5 * mass
    depth = depth + mass / rho
""",
    arrays={"mass": field(242, 0, 40), "rho": field(243, 80, 300), "depth": flat()},
    scalars={"dt": ("float64", 600.0)},
)

add(
    "soil water that drains downwards and overflows upwards",
    "w: Field[float]\nmost: Field[float]\nrunoff: Field[IJ, float]\nrate: float",
    """
with computation(FORWARD), interval(0, -1):
    drains = min(rate * w, max(most[0, 0, 1] - 0.5 * w[0, 0, 1], 0.0))
    w = w - drains
    w[0, 0, 1] = w[0, 0, 1] + drains
with computation(BACKWARD), interval(1, None):
    over = max(w - most, 0.0)
    w = w - over
    w[0, 0, -1] = w[0, 0, -1] + over
with computation(FORWARD), interval(0, 1):
    runoff = max(w - most, 0.0)
    w = min(w, most)
""",
    arrays={"w": field(244), "most": field(245, 0.3, 0.7), "runoff": flat()},
    scalars={"rate": ("float64", 0.3)},
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
