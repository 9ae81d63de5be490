"""Stencils as models have them: several features at once. They add to the examples."""

from __future__ import annotations

import numpy as np

from .column_examples import EXAMPLES
from .examples import add, some

__all__ = ["EXAMPLES"]

add(
    "vertical advection",
    """
from __externals__ import bet_m, bet_p
with computation(FORWARD):
    with interval(0, 1):
        gcv = 0.25 * (wcon[1, 0, 1] + wcon[0, 0, 1])
        cs = gcv * bet_m
        ccol = gcv * bet_p
        bcol = dtr - ccol
        dcol = dtr * pos + tens - cs * (stage[0, 0, 1] - stage)
        div = 1.0 / bcol
        ccol = ccol * div
        dcol = dcol * div
    with interval(1, -1):
        gav = -0.25 * (wcon[1, 0, 0] + wcon[0, 0, 0])
        gcv = 0.25 * (wcon[1, 0, 1] + wcon[0, 0, 1])
        as_ = gav * bet_m
        cs = gcv * bet_m
        acol = gav * bet_p
        ccol = gcv * bet_p
        bcol = dtr - acol - ccol
        term = -as_ * (stage[0, 0, -1] - stage) - cs * (stage[0, 0, 1] - stage)
        dcol = dtr * pos + tens + term
        div = 1.0 / (bcol - ccol[0, 0, -1] * acol)
        ccol = ccol * div
        dcol = (dcol - dcol[0, 0, -1] * acol) * div
    with interval(-1, None):
        gav = -0.25 * (wcon[1, 0, 0] + wcon[0, 0, 0])
        as_ = gav * bet_m
        acol = gav * bet_p
        bcol = dtr - acol
        dcol = dtr * pos + tens - as_ * (stage[0, 0, -1] - stage)
        div = 1.0 / (bcol - ccol[0, 0, -1] * acol)
        dcol = (dcol - dcol[0, 0, -1] * acol) * div
with computation(BACKWARD):
    with interval(-1, None):
        data = dcol
        tens = dtr * (data - pos)
    with interval(0, -1):
        data = dcol - ccol * data[0, 0, 1]
        tens = dtr * (data - pos)
""",
    "tens: Field[float], stage: Field[float], wcon: Field[float], pos: Field[float], dtr: float",
    before="EXTERNALS = {'bet_m': 0.4, 'bet_p': 0.6}\n",
    arrays={
        "tens": some((3, 2, 6), 40), "stage": some((3, 2, 7), 41), "wcon": some((4, 2, 7), 42),
        "pos": some((3, 2, 6), 43),
    },
    scalars={"dtr": ("float64", 3.0)},
)  # fmt: skip

add(
    "limited diffusion",
    """
from __externals__ import limited
with computation(PARALLEL), interval(...):
    lap = laplacian(u)
    if __INLINED(limited):
        res = lap[1, 0, 0] - lap
        flux_x = 0.0 if res * (u[1, 0, 0] - u) > 0.0 else res
        res = lap[0, 1, 0] - lap
        flux_y = 0.0 if res * (u[0, 1, 0] - u) > 0.0 else res
    else:
        flux_x = lap[1, 0, 0] - lap
        flux_y = lap[0, 1, 0] - lap
    out = u - alpha * (flux_x - flux_x[-1, 0, 0] + flux_y - flux_y[0, -1, 0])
""",
    "u: Field[float], out: Field[float], alpha: float",
    before="""
EXTERNALS = {"limited": True}

@function
def laplacian(u):
    return 4.0 * u - (u[1, 0, 0] + u[-1, 0, 0] + u[0, 1, 0] + u[0, -1, 0])
""",
    arrays={"out": np.zeros((4, 3, 2)), "u": some((8, 7, 2), 44)},
    domain=(4, 3, 2),
    origin={"u": (2, 2, 0)},
    scalars={"alpha": ("float64", 0.03)},
)

add(
    "edges of a tile",
    """
from __externals__ import i_start, i_end
with computation(PARALLEL), interval(...):
    al = edges(q, dxa)
    bl, br = differences(al, q)
    if c > 0.0:
        out = q[-1, 0, 0] + (1.0 - c) * (br[-1, 0, 0] - c * (bl[-1, 0, 0] + br[-1, 0, 0]))
    else:
        out = q + (1.0 + c) * (bl + c * (bl + br))
""",
    "q: Field[float], c: Field[float], dxa: Field[IJ, float], out: Field[float]",
    before="""
EXTERNALS = {"i_start": I[0], "i_end": I[-1]}

@function
def edges(q, dxa):
    from __externals__ import i_start, i_end
    al = 0.583 * (q[-1, 0, 0] + q) - 0.083 * (q[-2, 0, 0] + q[1, 0, 0])
    with horizontal(region[i_start - 1, :], region[i_end, :]):
        al = -0.1 * q[-2, 0, 0] + 0.4 * q[-1, 0, 0] + 0.7 * q
    with horizontal(region[i_start, :], region[i_end + 1, :]):
        al = 0.5 * (
            ((2.0 * dxa + dxa[-1, 0]) * q - dxa * q[-1, 0, 0]) / (dxa[-1, 0] + dxa)
            + ((2.0 * dxa[-1, 0] + dxa[-2, 0]) * q[-1, 0, 0]) / (dxa[-2, 0] + dxa[-1, 0])
        )
    return al

@function
def differences(al, q):
    bl = al - q
    br = al[1, 0, 0] - q
    if bl * br > 0.0:
        bl = 0.0
        br = 0.0
    else:
        da1 = br - bl
        if da1 * da1 > 0.5:
            bl = -2.0 * br
    return bl, br
""",
    arrays={
        "out": np.zeros((4, 2, 2)), "q": some((10, 2, 2), 45), "c": some((4, 2, 2), 46, -1, 1),
        "dxa": some((10, 2), 47, 1, 2),
    },
    domain=(4, 2, 2),
    origin={"q": (4, 0, 0), "dxa": (4, 0)},
)  # fmt: skip
