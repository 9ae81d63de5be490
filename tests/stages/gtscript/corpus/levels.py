"""Other levels: remapping, parcels with memory, tracers, fields with few axes."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, halo, plane, zeros

add(
    "remapping that conserves, layer by layer",
    "q: Field[float]\nold: Field[float]\nnew: Field[float]\nout: Field[float]",
    """
with computation(FORWARD), interval(0, 1):
    layer: Field[IJ, np.int64] = 0
with computation(FORWARD), interval(0, -1):
    low = new
    high = new[0, 0, 1]
    total = 0.0
    reached = low
    while layer < 4 and old.at(K=layer + 1) <= low:
        layer += 1
    n = 0
    while reached < high and n < 6:
        end = min(high, old.at(K=layer + 1)) if layer < 4 else high
        total += q.at(K=layer) * (end - reached)
        reached = end
        if reached < high:
            layer = min(layer + 1, 4)
        n += 1
    out = total / (high - low)
""",
    arrays={
        "q": field(260), "old": np.sort(field(261, 0, 10)), "new": np.sort(field(262, 0.5, 9)),
        "out": zeros(),
    },
)  # fmt: skip

add(
    "a parabola in each layer",
    "q: Field[float]\nleft: Field[float]\nright: Field[float]\ncurve: Field[float]",
    """
with computation(PARALLEL):
    with interval(0, 1):
        slope = 0.0
    with interval(1, -1):
        raw = 0.5 * (q[0, 0, 1] - q[0, 0, -1])
        up = q[0, 0, 1] - q
        low = q - q[0, 0, -1]
        slope = 0.0
        if up * low > 0.0:
            size = min(abs(raw), 2.0 * min(abs(up), abs(low)))
            slope = size if raw > 0.0 else -size
    with interval(-1, None):
        slope = 0.0
with computation(PARALLEL), interval(1, None):
    left = 0.5 * (q[0, 0, -1] + q) - (slope - slope[0, 0, -1]) / 6.0
with computation(PARALLEL), interval(0, 1):
    left = q
with computation(PARALLEL):
    with interval(0, -1):
        right = left[0, 0, 1]
    with interval(-1, None):
        right = q
with computation(PARALLEL), interval(...):
    curve = 3.0 * (left + right - 2.0 * q)
    if (right - q) * (q - left) <= 0.0:
        left = q
        right = q
        curve = 0.0
""",
    arrays={"q": field(263), "left": zeros(), "right": zeros(), "curve": zeros()},
)

add(
    "pressure levels from a hybrid coordinate",
    "ps: Field[IJ, float]\na: Field[K, float]\nb: Field[K, float]\np: Field[float]\n"
    "dp: Field[float]",
    """
with computation(PARALLEL), interval(...):
    p = a + b * ps
with computation(PARALLEL):
    with interval(0, -1):
        dp = p[0, 0, 1] - p
    with interval(-1, None):
        dp = ps - p
""",
    arrays={
        "ps": plane(264, 9e4, 1e5), "a": np.linspace(300.0, 0.0, 6), "b": np.linspace(0.0, 0.95, 6),
        "p": zeros(), "dp": zeros(),
    },
)  # fmt: skip

add(
    "the level of free convection by absolute levels",
    "h: Field[float]\nhs: Field[float]\nlfc: Field[IJ, np.int64]\nstart: Field[IJ, np.int64]",
    """
with computation(FORWARD), interval(0, 1):
    lfc = start
    while lfc < 5 and hs.at(K=lfc) > h.at(K=start):
        lfc += 1
""",
    arrays={
        "h": field(265, 300, 340), "hs": field(266, 310, 350), "lfc": flat("int64"),
        "start": np.array([[0, 1], [2, 0], [1, 3]]),
    },
)  # fmt: skip

add(
    "updraughts that detrain into levels above",
    "mass: Field[float]\nenv: Field[float]\ndepth: Field[IJ, np.int64]",
    """
with computation(FORWARD), interval(0, -2):
    if mass > 0.2:
        part = 0.25 * mass
        mass = mass - part
        env[0, 0, 1] = env[0, 0, 1] + 0.5 * part
        env[0, 0, depth] = env[0, 0, depth] + 0.5 * part
""",
    arrays={
        "mass": field(267), "env": field(268), "depth": np.array([[1, 2], [2, 0], [1, 1]]),
    },
)  # fmt: skip

add(
    "a cubic through four levels that a value gives",
    "q: Field[float]\nshift: Field[np.int64]\npart: Field[float]\nout: Field[float]",
    """
with computation(PARALLEL), interval(1, -2):
    a = q[0, 0, shift - 1]
    b = q[0, 0, shift]
    c = q[0, 0, shift + 1]
    slope = 0.5 * (c - a)
    out = b + part * slope + 0.5 * part * part * (c - 2.0 * b + a)
""",
    arrays={
        "q": field(269), "shift": np.random.default_rng(270).integers(0, 2, (3, 2, 6)),
        "part": field(271, -0.5, 0.5), "out": zeros(),
    },
)  # fmt: skip

add(
    "tracers under one flux",
    "x: Field[IJK, (np.float64, (3,))]\nu: Field[float]\nout: Field[IJK, (np.float64, (3,))]",
    """
with computation(PARALLEL), interval(...):
    first = u * (x[-1, 0, 0][0] if u > 0.0 else x[0, 0, 0][0])
    second = u * (x[-1, 0, 0][1] if u > 0.0 else x[0, 0, 0][1])
    third = u * (x[-1, 0, 0][2] if u > 0.0 else x[0, 0, 0][2])
    out[0, 0, 0][0] = x[0, 0, 0][0] - (first[1, 0, 0] - first)
    out[0, 0, 0][1] = x[0, 0, 0][1] - (second[1, 0, 0] - second)
    out[0, 0, 0][2] = x[0, 0, 0][2] - (third[1, 0, 0] - third)
""",
    arrays={
        "x": np.random.default_rng(272).uniform(0, 1, (5, 4, 6, 3)), "u": field(273, -1, 1, 1),
        "out": zeros(3),
    },
    origin={"x": (1, 1, 0, 0), **halo("u")},
)  # fmt: skip

add(
    "a column that is sorted by swaps",
    "t: Field[float]\nswaps: Field[IJ, np.int64]",
    """
with computation(FORWARD), interval(0, 1):
    swaps = 0
    again = 1
    while again > 0 and swaps < 40:
        again = 0
        level = 0
        while level < 5:
            if t[0, 0, level] > t[0, 0, level + 1]:
                kept = t[0, 0, level]
                t[0, 0, level] = t[0, 0, level + 1]
                t[0, 0, level + 1] = kept
                again = 1
                swaps += 1
            level += 1
""",
    arrays={"t": field(274, 290, 310), "swaps": flat("int64")},
)
