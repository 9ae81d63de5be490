"""Clouds: saturation, condensation, autoconversion."""

from __future__ import annotations

import numpy as np

from .adding import add, field, flat, plane, zeros

SATURATION = """
@function
def esat(t):
    return 611.21 * exp(17.502 * (t - 273.16) / (t - 32.19))

@function
def qsat(t, p):
    e = min(esat(t), 0.5 * p)
    return 0.622 * e / (p - 0.378 * e)
"""
STATE = {
    "t": field(1, 250, 300), "p": field(2, 3e4, 1e5), "q": field(3, 0, 2e-2),
    "ql": field(4, 0, 1e-3),
}  # fmt: skip
ARGUMENTS = "t: Field[float]\np: Field[float]\nq: Field[float]\nql: Field[float]"


def state():
    return {name: each.copy() for name, each in STATE.items()}


add(
    "saturation adjustment by Newton's method",
    ARGUMENTS,
    """
with computation(PARALLEL), interval(...):
    t_new = t
    q_new = q
    change = 1.0
    count = 0
    while abs(change) > 1e-8 and count < 12:
        qs = qsat(t_new, p)
        slope = qs * 17.502 * 240.97 / ((t_new - 32.19) * (t_new - 32.19))
        change = (q_new - qs) / (1.0 + 2490.0 * slope)
        if ql + (q - q_new) + change < 0.0:
            change = 0.0 - ql - (q - q_new)
            count = 12
        q_new = q_new - change
        t_new = t_new + 2490.0 * change
        count += 1
    ql = max(ql + (q - q_new), 0.0)
    q = q_new
    t = t_new
""",
    SATURATION,
    arrays=state(),
)

add(
    "saturation by a table",
    ARGUMENTS + "\ntable: GlobalTable[(np.float64, (64,))]\ncover: Field[float]",
    """
with computation(PARALLEL), interval(...):
    place = (min(max(t, 240.0), 302.0) - 240.0)
    low = int64(trunc(place))
    part = place - trunc(place)
    es = table.A[low] + part * (table.A[low + 1] - table.A[low])
    qs = 0.622 * es / max(p - 0.378 * es, es)
    rh = (q + ql) / qs
    cover = 0.0
    if rh > 0.8:
        cover = min(1.0, (rh - 0.8) / 0.2)
""",
    arrays={
        **state(), "table": 611.21 * np.exp(17.502 * (np.arange(64) - 33) / (np.arange(64) + 208)),
        "cover": zeros(),
    },
)  # fmt: skip

add(
    "probability of cloud in a layer",
    ARGUMENTS + "\nwidth: Field[IJ, float]\ncover: Field[float]\nqi: Field[float]",
    """
with computation(PARALLEL), interval(...):
    qs = qsat(t, p)
    half = width * qs
    lower = q + ql - half
    upper = q + ql + half
    if lower > qs:
        cover = 1.0
        condensate = q + ql - qs
    elif upper > qs:
        cover = (upper - qs) / (2.0 * half)
        condensate = 0.5 * (upper - qs) * cover
    else:
        cover = 0.0
        condensate = 0.0
    ice = 0.0 if t > 273.16 else (1.0 if t < 233.16 else ((273.16 - t) / 40.0) ** 2)
    qi = condensate * ice
    ql = condensate - qi
""",
    SATURATION,
    arrays={**state(), "width": plane(5, 0.1, 0.3), "cover": zeros(), "qi": zeros()},
)

add(
    "autoconversion with an enumeration",
    ARGUMENTS + "\nqr: Field[float]\nscheme: int",
    """
with computation(PARALLEL), interval(...):
    if scheme == 1:
        rate = 1e-3 * max(ql - 5e-4, 0.0)
    else:
        rate = 1350.0 * ql ** 2.47 * 1e-6
    made = min(rate * 300.0, ql)
    ql = ql - made
    qr = qr + made
""",
    arrays={**state(), "qr": zeros()},
    scalars={"scheme": ("int64", 2)},
)

add(
    "base and top of clouds",
    ARGUMENTS + "\nbase: Field[IJ, np.int64]\ntop: Field[IJ, np.int64]\ndepth: Field[IJ, float]",
    """
with computation(FORWARD), interval(0, 1):
    base = -1
    top = -1
    depth = 0.0
with computation(FORWARD), interval(...):
    if ql > 3e-4:
        if base < 0:
            base = K
        top = K
with computation(FORWARD), interval(0, 1):
    if base >= 0:
        depth = p.at(K=base) - p.at(K=top)
""",
    arrays={**state(), "base": flat("int64"), "top": flat("int64"), "depth": flat()},
)

add(
    "overlap of clouds from the top",
    "cover: Field[float]\ntotal: Field[IJ, float]\nrandom: Field[float]",
    """
with computation(BACKWARD), interval(-1, None):
    clear = 1.0 - cover
    total = cover
with computation(BACKWARD), interval(0, -1):
    clear = clear[0, 0, 1] * (1.0 - max(cover, cover[0, 0, 1])) / max(1.0 - cover[0, 0, 1], 1e-6)
    random = 1.0 - clear
    total = max(total, random)
""",
    arrays={"cover": field(6, 0, 0.9), "total": flat(), "random": zeros()},
)

add(
    "species of hydrometeors",
    "x: Field[IJK, (np.float64, (5,))]\nt: Field[float]\nsource: Field[IJK, (np.float64, (5, 5))]",
    """
with computation(PARALLEL), interval(...):
    melting = x[0, 0, 0][2] * min(1.0, 0.01 * max(t - 273.16, 0.0))
    freezing = x[0, 0, 0][1] if t < 233.16 else 0.0
    source[0, 0, 0][1, 2] = melting
    source[0, 0, 0][2, 1] = freezing
    x[0, 0, 0][1] = x[0, 0, 0][1] + source[0, 0, 0][1, 2] - source[0, 0, 0][2, 1]
    x[0, 0, 0][2] = x[0, 0, 0][2] + source[0, 0, 0][2, 1] - source[0, 0, 0][1, 2]
    t = t - 334.0 * (melting - freezing)
""",
    arrays={
        "x": np.random.default_rng(7).uniform(0, 1e-3, (3, 2, 6, 5)), "t": field(8, 220, 290),
        "source": zeros(5, 5),
    },
)  # fmt: skip
