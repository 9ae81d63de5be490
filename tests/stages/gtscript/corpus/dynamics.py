"""Dynamics: transport, damping, implicit solvers, remapping."""

from __future__ import annotations

import numpy as np

from .adding import add, field, halo, plane, zeros

add(
    "fluxes with a limiter",
    "q: Field[float]\nu: Field[float]\nflux: Field[float]",
    """
with computation(PARALLEL), interval(...):
    slope = 0.5 * (q[1, 0, 0] - q[-1, 0, 0])
    left = 2.0 * (q - q[-1, 0, 0])
    right = 2.0 * (q[1, 0, 0] - q)
    size = min(abs(slope), min(abs(left), abs(right)))
    slope = size if slope > 0.0 else -size
    if left * right <= 0.0:
        slope = 0.0
    upwind = q[-1, 0, 0] + 0.5 * (1.0 - u) * slope[-1, 0, 0]
    flux = u * upwind if u > 0.0 else u * (q - 0.5 * (1.0 + u) * slope)
""",
    arrays={"q": field(50, 0, 1, 2), "u": field(51, -0.5, 0.5), "flux": zeros()},
    origin=halo("q", width=2),
)

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
    "a tridiagonal system",
    "a: Field[float]\nb: Field[float]\nc: Field[float]\nd: Field[float]",
    """
with computation(FORWARD):
    with interval(0, 1):
        c = c / b
        d = d / b
    with interval(1, None):
        c = c / (b - a * c[0, 0, -1])
        d = (d - a * d[0, 0, -1]) / (b - a * c[0, 0, -1])
with computation(BACKWARD), interval(0, -1):
    d = d - c * d[0, 0, 1]
""",
    arrays={"a": field(55), "b": field(56, 4, 5), "c": field(57), "d": field(58, -1, 1)},
)

add(
    "two systems at once",
    "b: Field[float]\nx: Field[IJK, (np.float64, (2,))]\ng: Field[float]",
    """
with computation(FORWARD):
    with interval(0, 1):
        g = 1.0 / b
        x = x * g
    with interval(1, None):
        g = 1.0 / (b - g[0, 0, -1])
        x[0, 0, 0][0] = (x[0, 0, 0][0] - x[0, 0, -1][0]) * g
        x[0, 0, 0][1] = (x[0, 0, 0][1] - x[0, 0, -1][1]) * g
with computation(BACKWARD), interval(0, -1):
    x[0, 0, 0][0] = x[0, 0, 0][0] - g * x[0, 0, 1][0]
    x[0, 0, 0][1] = x[0, 0, 0][1] - g * x[0, 0, 1][1]
""",
    arrays={
        "b": field(59, 4, 5), "x": np.random.default_rng(60).uniform(-1, 1, (3, 2, 6, 2)),
        "g": zeros(),
    },
)  # fmt: skip

add(
    "remapping to other levels by search",
    "q: Field[float]\nold: Field[float]\nnew: Field[float]\nout: Field[float]",
    """
with computation(FORWARD), interval(...):
    at = 0
    while at < 4 and old.at(K=at + 1) < new:
        at += 1
    part = (new - old.at(K=at)) / (old.at(K=at + 1) - old.at(K=at))
    out = q.at(K=at) + part * (q.at(K=at + 1) - q.at(K=at))
""",
    arrays={
        "q": field(61), "old": np.sort(field(62, 0, 10)), "new": np.sort(field(63, 1, 9)),
        "out": zeros(),
    },
)  # fmt: skip

add(
    "hydrostatic pressure",
    "dp: Field[float]\np: Field[float]\nlogs: Field[float]\ntop: float",
    """
with computation(FORWARD):
    with interval(0, 1):
        p = top
    with interval(1, None):
        p = p[0, 0, -1] + dp[0, 0, -1]
with computation(PARALLEL), interval(...):
    logs = log(p)
""",
    arrays={"dp": field(64, 100, 200), "p": zeros(), "logs": zeros()},
    scalars={"top": ("float64", 300.0)},
)

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

add(
    "vorticity and coriolis",
    "u: Field[float]\nv: Field[float]\nf: Field[J, float]\ndx: Field[IJ, float]\n"
    "vort: Field[float]\nke: Field[float]",
    """
with computation(PARALLEL), interval(...):
    vort = (v - v[-1, 0, 0]) / dx - (u - u[0, -1, 0]) / dx + f
    ke = 0.25 * (u ** 2 + u[1, 0, 0] ** 2 + v ** 2 + v[0, 1, 0] ** 2)
""",
    arrays={
        "u": field(66, -9, 9, 1), "v": field(67, -9, 9, 1), "f": np.array([1e-4, 2e-4]),
        "dx": plane(68, 9, 11), "vort": zeros(), "ke": zeros(),
    },
    origin=halo("u", "v"),
)  # fmt: skip

add(
    "acoustic substeps",
    "w: Field[float]\np: Field[float]\ndz: Field[float]\nsteps: int",
    """
with computation(FORWARD), interval(0, -1):
    n = 0
    gap = p - p[0, 0, 1]
    x = w
    while n < steps:
        x = x + 0.1 * gap / dz
        gap = gap * 0.5 - 0.05 * x
        n += 1
    w = x
""",
    arrays={"w": field(69, -1, 1), "p": field(70, -1, 1), "dz": field(71, 1, 2)},
    scalars={"steps": ("int64", 4)},
)
