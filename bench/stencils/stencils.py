"""The stencils that are measured, in GTScript; read by fieldforge and by gt4py."""

from __future__ import annotations

import numpy as np
from gt4py.cartesian import gtscript
from gt4py.cartesian.gtscript import (
    BACKWARD,
    FORWARD,
    PARALLEL,
    Field,
    I,
    J,
    computation,
    horizontal,
    interval,
    region,
)

F = Field[np.float64]


def copy(a: F, b: F):
    with computation(PARALLEL), interval(...):
        b = a


def ten(a: F, b: F, c: F, d: F, e: F, f: F, g: F, h: F, x: F, y: F, w: float):
    with computation(PARALLEL), interval(...):
        y = a + b + c + d + e + f + g + h + w * (x[1, 0, 0] - x[-1, 0, 0])


@gtscript.function
def laplacian(q):
    return q[1, 0, 0] + q[-1, 0, 0] + q[0, 1, 0] + q[0, -1, 0] - 4.0 * q


def hyperdiffusion(q: F, out: F, strength: float):
    with computation(PARALLEL), interval(...):
        curvature = laplacian(q)
        along_i = curvature[1, 0, 0] - curvature
        along_i = along_i if along_i * (q[1, 0, 0] - q) < 0.0 else 0.0
        along_j = curvature[0, 1, 0] - curvature
        along_j = along_j if along_j * (q[0, 1, 0] - q) < 0.0 else 0.0
        out = q - strength * (along_i - along_i[-1, 0, 0] + along_j - along_j[0, -1, 0])


def tridiagonal(lower: F, diagonal: F, upper: F, right: F, x: F):
    with computation(FORWARD):
        with interval(0, 1):
            ratio = upper / diagonal
            reduced = right / diagonal
        with interval(1, None):
            ratio = upper / (diagonal - lower * ratio[0, 0, -1])
            reduced = (right - lower * reduced[0, 0, -1]) / (diagonal - lower * ratio[0, 0, -1])
    with computation(BACKWARD):
        with interval(-1, None):
            x = reduced
        with interval(0, -1):
            x = reduced - ratio * x[0, 0, 1]


def upwind(q: F, u: F, v: F, out: F, dt: float):
    with computation(PARALLEL), interval(...):
        flux_i = u * (q[-1, 0, 0] if u > 0.0 else q)
        flux_j = v * (q[0, -1, 0] if v > 0.0 else q)
        out = q - dt * (flux_i[1, 0, 0] - flux_i + flux_j[0, 1, 0] - flux_j)
        with horizontal(region[I[0], :], region[I[-1], :], region[:, J[0]], region[:, J[-1]]):
            out = q


HALO = 3
KERNELS = {
    "copy": (copy, ("a", "b"), {}),
    "hyperdiffusion": (hyperdiffusion, ("q", "out"), {"strength": 0.01}),
    "tridiagonal": (tridiagonal, ("lower", "diagonal", "upper", "right", "x"), {}),
    "upwind": (upwind, ("q", "u", "v", "out"), {"dt": 0.1}),
}
