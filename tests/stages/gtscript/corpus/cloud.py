"""Clouds: saturation, condensation, autoconversion."""

from __future__ import annotations

from .adding import add, field, zeros

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
