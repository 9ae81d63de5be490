"""Convection: parcels, plumes, triggers."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, plane, zeros

add(
    "a parcel that rises",
    "t: Field[float]\nz: Field[float]\nparcel: Field[float]\ncape: Field[IJ, float]\n"
    "free: Field[IJ, np.int64]",
    """
with computation(FORWARD):
    with interval(0, 1):
        parcel = t + 1.0
        cape = 0.0
        free = -1
    with interval(1, None):
        lapse = 9.8e-3 if free < 0 else 6.5e-3
        parcel = parcel[0, 0, -1] - lapse * (z - z[0, 0, -1])
        buoyancy = 9.81 * (parcel - t) / t
        if buoyancy > 0.0:
            if free < 0:
                free = K
            cape = cape + buoyancy * (z - z[0, 0, -1])
""",
    arrays={
        "t": np.sort(field(30, 250, 300))[..., ::-1], "z": np.sort(field(31, 0, 8000)),
        "parcel": zeros(), "cape": flat(), "free": flat("int64"),
    },
)  # fmt: skip

add(
    "an entraining plume",
    "h: Field[float]\nmass: Field[float]\nplume: Field[float]\nsource: Field[IJ, np.int64]\n"
    "eps: float",
    """
with computation(FORWARD), interval(0, 1):
    plume = 0.0
    mass = 0.0
with computation(FORWARD), interval(1, None):
    if K == source:
        plume = h.at(K=source - 1) + 2.0
        mass = 1.0
    elif K > source and mass[0, 0, -1] > 0.0:
        mass = mass[0, 0, -1] * (1.0 + eps)
        plume = (plume[0, 0, -1] + eps * h) / (1.0 + eps)
        if plume < h:
            mass = 0.0
    else:
        mass = 0.0
        plume = 0.0
""",
    arrays={
        "h": field(32, 300, 303), "mass": zeros(), "plume": zeros(),
        "source": np.array([[1, 2], [3, 1], [2, 4]]),
    },
    scalars={"eps": ("float64", 0.1)},
)  # fmt: skip

add(
    "subsidence that compensates",
    "mass: Field[float]\nq: Field[float]\ndp: Field[float]\ndt: float",
    """
with computation(PARALLEL):
    with interval(0, 1):
        tendency = mass[0, 0, 1] * (q[0, 0, 1] - q) / dp
    with interval(1, -1):
        tendency = (mass[0, 0, 1] * (q[0, 0, 1] - q) + mass * (q - q[0, 0, -1])) / (2.0 * dp)
    with interval(-1, None):
        tendency = mass * (q - q[0, 0, -1]) / dp
with computation(PARALLEL), interval(...):
    q = q + dt * tendency
""",
    arrays={"mass": field(33), "q": field(34), "dp": field(35, 10, 20)},
    scalars={"dt": ("float64", 1.0)},
)

add(
    "the most unstable level",
    "h: Field[float]\nbest: Field[IJ, np.int64]\nvalue: Field[IJ, float]\nabove: Field[float]",
    """
with computation(FORWARD), interval(0, 1):
    best = 0
with computation(FORWARD), interval(1, -1):
    if h > h.at(K=best):
        best = K
with computation(FORWARD), interval(-1, None):
    value = h.at(K=best)
with computation(PARALLEL), interval(...):
    above = h - h.at(K=best) if K > best else 0.0
""",
    arrays={"h": field(36, 300, 350), "best": flat("int64"), "value": flat(), "above": zeros()},
)

add(
    "mixing of an unstable column",
    "theta: Field[float]\ndp: Field[float]\nrounds: Field[IJ, np.int64]",
    """
with computation(FORWARD), interval(0, 1):
    rounds = 0
with computation(BACKWARD), interval(0, -1):
    n = 0
    while theta > theta[0, 0, 1] + 0.01 and n < 5:
        mean = (theta * dp + theta[0, 0, 1] * dp[0, 0, 1]) / (dp + dp[0, 0, 1])
        gap = theta - theta[0, 0, 1]
        theta = mean + 0.25 * gap
        theta[0, 0, 1] = mean - 0.25 * gap
        n += 1
        rounds += 1
""",
    arrays={"theta": field(37, 300, 302), "dp": field(38, 1, 2), "rounds": flat("int64")},
)

add(
    "detrainment at levels of its own",
    "cloud: Field[float]\ntop: Field[IJ, np.int64]\namount: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    cloud[0, 0, top] = cloud[0, 0, top] + amount
    cloud[0, 0, top - 1] = cloud[0, 0, top - 1] + 0.5 * amount
""",
    arrays={
        "cloud": field(39), "top": np.array([[1, 5], [3, 2], [4, 1]]), "amount": plane(40),
    },
)  # fmt: skip

add(
    "layers between two levels of the call",
    "q: Field[float]\ndp: Field[float]\nlow: Field[IJ, np.int64]\nhigh: Field[IJ, np.int64]\n"
    "mean: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    mean = 0.0
    weight: Field[IJ, np.float64] = 0.0
with computation(FORWARD), interval(low, high):
    mean = mean + q * dp
    weight = weight + dp
with computation(FORWARD), interval(-1, None):
    if weight > 0.0:
        mean = mean / weight
""",
    arrays={
        "q": field(41), "dp": field(42, 1, 2), "low": np.array([[0, 1], [2, 3], [4, 1]]),
        "high": np.array([[2, 4], [6, 3], [5, 6]]), "mean": flat(),
    },
)  # fmt: skip
