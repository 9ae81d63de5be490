"""Class C: `while`, writes at other levels, levels that a sweep computes, intervals of the call."""

from __future__ import annotations

import numpy as np

from .data_examples import AROUND, EXAMPLES, around
from .examples import add, column, some

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
    "while",
    """
with computation(PARALLEL), interval(...):
    while a < 3.0:
        a += 2.0
        n += 1
""",
    "a: Field[float], n: Field[np.int64]",
    arrays={"a": column(0, 1, 3, 4.5), "n": column(0, 0, 0, 0, dtype="int64")},
)

add(
    "while that reads around",
    """
with computation(PARALLEL), interval(...):
    t = a[1, 0, 0] - a[-1, 0, 0]
    c = 0.0
    while t < 3.0 and c < 20.0:
        t = t * 1.5 + 0.25 * a[0, 1, 0]
        c += 1.0
    b = t[1, 0, 0] + c
""",
    arrays={"b": np.zeros((2, 2, 3)), "a": some((5, 3, 3), 91, 0, 1)},
    domain=(2, 2, 3),
    origin={"a": (1, 0, 0)},
)

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

add(
    "while with a function",
    """
with computation(PARALLEL), interval(...):
    x = a
    e = 1.0
    while e > 1e-9:
        y = step(x, a)
        e = abs(y - x)
        x = y
    b = x
""",
    before="""
@function
def step(x, a):
    return 0.5 * (x + a / x)
""",
    arrays={"a": some((2, 3, 3), 94, 1, 9), "b": np.zeros((2, 3, 3))},
)

# --- writes at other levels -----------------------------------------------------------------------

add(
    "writes above",
    """
with computation(FORWARD), interval(0, -1):
    a[0, 0, 1] = a + a[0, 0, 1]
""",
    "a: Field[float]",
    arrays={"a": column(1, 2, 3, 4)},
)

add(
    "writes below, in a sweep down",
    """
with computation(BACKWARD), interval(1, None):
    f = 0.25 * a
    a = a - f
    a[0, 0, -1] = a[0, 0, -1] + f
    b[0, 0, -1] = a[0, 0, -1] * 2.0
""",
    arrays={"a": some((2, 2, 5), 95), "b": some((2, 2, 5), 96)},
)

add(
    "writes where a condition holds",
    """
with computation(FORWARD), interval(1, -1):
    if a < 0.0:
        q = a
        a = 0.0
        if a[0, 0, 1] > 0.5:
            a[0, 0, 1] = a[0, 0, 1] + q
        else:
            a[0, 0, -1] = a[0, 0, -1] + q
            b = K
""",
    arrays={"a": some((3, 3, 6), 97), "b": some((3, 3, 6), 98)},
)

add(
    "writes at levels that a value gives",
    """
with computation(FORWARD), interval(...):
    b[0, 0, n] = a + b[0, 0, n]
    b[0, 0, p - p] = b + 1.0
""",
    LEVELS,
    arrays=levels(),
)

add(
    "writes beyond the domain",
    """
with computation(FORWARD), interval(...):
    a[0, 0, 1] = a * 0.5
""",
    "a: Field[float]",
    arrays={"a": column(1, 2, 3, 4, 5)},
    domain=(1, 1, 4),
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
    "a search",
    """
with computation(FORWARD), interval(...):
    at = 0
    while at < 4 and x.at(K=at) < y:
        at += 1
    b = a.at(K=at) + at
""",
    "a: Field[float], b: Field[float], x: Field[float], y: Field[float]",
    arrays={
        "a": some((2, 2, 5), 100),
        "b": np.zeros((2, 2, 5)),
        "x": np.sort(some((2, 2, 5), 101)),
        "y": some((2, 2, 5), 102),
    },
)

add(
    "a level that a sweep carries",
    """
with computation(FORWARD):
    with interval(0, 1):
        top = 0
        b = 0.0
    with interval(1, None):
        if a > a.at(K=top):
            top = K
        b = b[0, 0, -1] + a.at(K=top)
""",
    "a: Field[float], b: Field[float], top: Field[IJ, np.int64]",
    arrays={"a": some((3, 2, 6), 103), "b": np.zeros((3, 2, 6)), "top": np.ones((3, 2), "int64")},
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
    "temporaries that several computations use",
    """
with computation(PARALLEL), interval(...):
    t = a
with computation(FORWARD), interval(1, None):
    t[0, 0, -1] = t + t[0, 0, -1]
    u = t * 2.0
    while u > 1.0:
        u = u * 0.5
with computation(BACKWARD), interval(0, -1):
    b = t[0, 0, 1] + t
with computation(PARALLEL), interval(1, None):
    b = b + u[1, 0, 0]
""",
    arrays={"b": some((2, 2, 5), 106), "a": some((3, 2, 5), 107)},
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
    "a search that ends above the domain",
    """
with computation(FORWARD), interval(0, 1):
    at = -2
    while at < 6 and a.at(K=at) < 2.8:
        at += 1
    b = a.at(K=at) + at
""",
    AROUND,
    **around(120),
)

add(
    "what a block writes, read around the domain",
    """
with computation(FORWARD), interval(...):
    x = a
    b = x.at(K=5) + x.at(K=-1) + x[0, 0, p]
""",
    AROUND,
    **around(121),
)

add(
    "writes around the domain at levels that a value gives",
    """
with computation(BACKWARD), interval(...):
    x[0, 0, p] = x[0, 0, p] * 0.5 + a
    b[0, 0, p - 2] = b[0, 0, p - 1] - a
with computation(PARALLEL), interval(...):
    x = x + 1.0
""",
    AROUND,
    **around(122),
)

add(
    "writes above the domain, then all of it",
    """
with computation(FORWARD), interval(...):
    x[0, 0, 1] = a
with computation(PARALLEL), interval(...):
    x = x + 1.0
""",
    AROUND,
    **around(123),
)

add(
    "the last level of a domain of one",
    """
with computation(FORWARD), interval(-1, None):
    x[0, 0, -1] = a
    b = x[0, 0, -1] + x[0, 0, -2] + x
""",
    AROUND,
    **around(124) | {"domain": (2, 2, 1)},
)

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

COLUMNS = tuple(name for name in EXAMPLES if name not in BEFORE)
