"""Dynamics: transport, damping, implicit solvers, remapping."""

import numpy as np

from .adding import add, field, halo, plane, zeros

add(
    "divergence damping at the edges",
    "u: Field[float]\nv: Field[float]\ndiv: Field[float]\narea: Field[IJ, float]",
    """
from __externals__ import i_start, j_end
with computation(PARALLEL), interval(...):
    div = (u[1, 0, 0] - u + v[0, 1, 0] - v) / area
    with horizontal(region[i_start, :]):
        div = 2.0 * div
    with horizontal(region[:, j_end]):
        div = 0.0
""",
    "EXTERNALS = {'i_start': I[0], 'j_end': J[-1]}\n",
    arrays={"u": field(52, -1, 1, 1), "v": field(53, -1, 1, 1), "div": zeros(),
        "area": plane(54, 1, 2)},
    origin=halo("u", "v"),
)  # fmt: skip

add(
    "rayleigh damping above a level",
    "w: Field[float]\np: Field[K, float]\nlimit: float\ndt: float",
    """
with computation(PARALLEL), interval(...):
    if p < limit:
        rate = sin(1.5707963 * log(limit / p) / log(limit / 100.0)) ** 2
        w = w / (1.0 + dt * rate)
""",
    arrays={"w": field(65, -1, 1), "p": np.array([150.0, 300, 600, 1200, 2400, 4800])},
    scalars={"limit": ("float64", 1000.0), "dt": ("float64", 0.5)},
)
