"""Convection: parcels, plumes, triggers."""

import numpy as np

from .adding import add, field, flat, zeros

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
