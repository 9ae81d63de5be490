"""Class C: `while`, writes at other levels, levels that a sweep computes, intervals of the call."""

from __future__ import annotations

import numpy as np

from .data_examples import AROUND, EXAMPLES, around
from .examples import add, some

__all__ = ["COLUMNS", "EXAMPLES"]

BEFORE = frozenset(EXAMPLES)

LEVELS = "a: Field[float], b: Field[float], n: Field[np.int64], p: Field[IJ, np.int64]"


def levels(seed=90):
    """Return two fields and levels that lie inside of them."""
    return {
        "a": some((2, 2, 5), seed),
        "b": some((2, 2, 5), seed + 1),
        "n": np.tile(np.array([1, 0, -1, -3, -1]), (2, 2, 1)),
        "p": np.array([[2, 0], [1, 3]]),
    }


# --- while ----------------------------------------------------------------------------------------

add(
    "while in while in if",
    """
with computation(FORWARD), interval(1, None):
    i = 0
    if a > 0.0:
        while i < 4:
            j = 0
            while j < i:
                b = b + 0.5 * a
                j += 1
                if b > 2.0:
                    b = b - b[0, 0, -1]
            i += 1
    else:
        b = 2.0 * b[0, 0, -1]
""",
    arrays={"a": some((3, 2, 5), 92), "b": some((3, 2, 5), 93)},
)

# --- levels that a sweep computes -----------------------------------------------------------------

add(
    "own values at other levels",
    """
with computation(FORWARD), interval(1, None):
    a = a * 2.0 + a[0, 0, m]
    b = a.at(K=0) + a.at(K=1) * a[0, 0, -1]
""",
    "a: Field[float], b: Field[float], m: int",
    arrays={"a": some((2, 2, 5), 99), "b": np.zeros((2, 2, 5))},
    scalars={"m": ("int64", -1)},
)

add(
    "sums of a column and its planes",
    """
with computation(FORWARD), interval(...):
    total = total + a
    k = 0
    while k < 2:
        total = total * 0.5
        k += 1
    b = total
""",
    "a: Field[float], b: Field[float], total: Field[IJ, float]",
    arrays={"a": some((3, 2, 4), 104), "b": np.zeros((3, 2, 4)), "total": some((3, 2), 105)},
)

add(
    "columns in regions",
    """
with computation(FORWARD), interval(1, None):
    with horizontal(region[I[0], :]):
        a[0, 0, -1] = a * 2.0
    with horizontal(region[:, J[-1]]):
        while a < 2.0:
            a += 0.75
""",
    "a: Field[float]",
    arrays={"a": some((3, 3, 4), 108)},
)

# --- arrays with more levels than the domain ------------------------------------------------------

add(
    "a fixed level that reads above a small domain",
    """
with computation(FORWARD), interval(2, 3):
    x[0, 0, 1] = a
    b = x[0, 0, 1] + x[0, 0, 2]
""",
    AROUND,
    **around(125) | {"domain": (2, 2, 3)},
)

# --- intervals of the call ------------------------------------------------------------------------

add(
    "sweeps over intervals of the call",
    """
with computation(FORWARD), interval(1, p):
    b = a + b[0, 0, -1]
with computation(BACKWARD), interval(p, None):
    c = K
    b = b - 0.5 * c
""",
    LEVELS,
    arrays=levels(111),
)

add(
    "places in a table that a sweep carries",
    """
with computation(FORWARD):
    with interval(0, 1):
        at = 0
        b = t.A[1, 2]
    with interval(1, None):
        if a > 0.5 and at < 1:
            at = at + 1
        b = b[0, 0, -1] * 0.5 + t.A[at, int64(min(max(b[0, 0, -1], 0.0), 2.0))]
""",
    "a: Field[float], b: Field[float], at: Field[IJ, np.int64], "
    "t: GlobalTable[(np.float64, (2, 3))]",
    arrays={
        "a": some((2, 2, 5), 113),
        "b": np.zeros((2, 2, 5)),
        "at": np.zeros((2, 2), "int64"),
        "t": some((2, 3), 114),
    },
)

add(
    "a condition that several loops over lanes need",
    """
with computation(BACKWARD), interval(1, 3):
    if p > a:
        b[0, 0, 1] = a
    else:
        if a != 0.5:
            b[0, 0, -n] = a
        top = a
""",
    "a: Field[float], b: Field[float], n: Field[np.int64], p: Field[IJ, float], "
    "top: Field[IJ, float]",
    arrays={
        "a": some((2, 3, 5), 140),
        "b": some((2, 3, 5), 141),
        "n": np.tile(np.array([1, 0, -1, -2, 0]), (2, 3, 1)),
        "p": some((2, 3), 142),
        "top": some((2, 3), 143),
    },
)

COLUMNS = tuple(name for name in EXAMPLES if name not in BEFORE)
