"""Class B: data axes, tables, the level as a number, levels that a value gives."""

from __future__ import annotations

import numpy as np

from .examples import EXAMPLES, add, some

__all__ = ["DATA", "EXAMPLES"]

BEFORE = frozenset(EXAMPLES)

VECTORS = (
    "v: Field[IJK, (np.float64, (3,))], w: Field[IJK, (np.float64, (3,))], "
    "m: Field[IJK, (np.float64, (3, 3))], b: Field[float]"
)
LEVELS = "a: Field[float], b: Field[float], n: Field[np.int64], p: Field[IJ, np.int64]"
AROUND = "a: Field[float], b: Field[float], x: Field[float], p: Field[IJ, np.int64]"


def vectors():
    """Return fields with data axes."""
    return {
        "b": some((2, 3, 4), 60),
        "v": some((2, 3, 4, 3), 61),
        "w": some((2, 3, 4, 3), 62),
        "m": some((2, 3, 4, 3, 3), 63),
    }


def levels():
    """Return a field and levels that lie inside of it."""
    return {
        "a": some((2, 2, 4), 64),
        "b": np.zeros((2, 2, 4)),
        "n": np.tile(np.array([1, 0, -1, -3]), (2, 2, 1)),
        "p": np.array([[2, 0], [1, 3]]),
    }


def around(seed):
    """Return fields of nine levels, of which a call takes the third as its first one."""
    return {
        "arrays": {name: some((2, 2, 9), seed + i) for i, name in enumerate("abx")}
        | {"p": np.array([[2, 0], [1, 2]])},
        "origin": dict.fromkeys("abx", (0, 0, 2)),
        "domain": (2, 2, 5),
    }


# --- the level ------------------------------------------------------------------------------------

add(
    "absolute levels",
    """
with computation(PARALLEL), interval(...):
    b = a.at(K=0) + 2.0 * a.at(K=p) - a.at(K=n + K) * a.at(K=m - 1)
""",
    LEVELS + ", m: int",
    arrays=levels(),
    scalars={"m": ("int64", 3)},
)

add(
    "absolute levels of temporaries",
    """
with computation(PARALLEL), interval(...):
    t = a * 2.0 + K
    far = p + 0
with computation(PARALLEL), interval(1, None):
    t = a - 1.0
with computation(PARALLEL), interval(...):
    b = t.at(K=far) + t[0, 0, n]
""",
    LEVELS,
    arrays=levels(),
)

add(
    "levels that another computation has written",
    """
with computation(PARALLEL), interval(1, None):
    a = a * 2.0
with computation(FORWARD):
    with interval(0, 1):
        b = a.at(K=3)
    with interval(1, None):
        b = b[0, 0, -1] + a[0, 0, n] * a.at(K=p)
""",
    LEVELS,
    arrays=levels(),
)

# --- data axes ------------------------------------------------------------------------------------

add(
    "elements of fields",
    """
with computation(PARALLEL), interval(...):
    b = v[0, 0, 0][2] + v.A[0] * m[0, 0, 0][1, 2] - m.A[n - 1, 0]
    w[0, 0, 0][1] = b
    w[0, 0, 0][n] = w[0, 0, 0][1] + w.A[0]
""",
    "b: Field[float], v: Field[IJK, (np.float64, (3,))], w: Field[IJK, (np.float64, (3,))], "
    "m: Field[IJK, (np.float64, (3, 3))], n: int",
    arrays=vectors(),
    scalars={"n": ("int64", 2)},
)

add(
    "products of matrices",
    """
with computation(PARALLEL), interval(...):
    w = m @ v
    w = m @ w + v
    w = m.T @ (w + v)
""",
    VECTORS,
    arrays=vectors(),
)

add(
    "temporaries with data axes",
    """
z: Field[IJK, (np.float64, (3,))] = 1.0
with computation(PARALLEL), interval(...):
    z[0, 0, 0][1] = b + 1.0
    z[0, 0, 0][2] = z[0, 0, 0][1] * v[0, 0, 0][0]
with computation(PARALLEL), interval(...):
    w = z + v
    c = z[1, 0, 0][2]
""",
    VECTORS + ", c: Field[float]",
    arrays={
        **vectors(),
        "v": some((3, 3, 4, 3), 73),
        "b": some((3, 3, 4), 74),
        "c": np.zeros((2, 3, 4)),
    },
    domain=(2, 3, 4),
)

# --- tables ---------------------------------------------------------------------------------------

add(
    "tables",
    """
with computation(PARALLEL), interval(...):
    i = trunc(a)
    f = a - i
    k = int64(i)
    b = t.A[k] * (1.0 - f) + t.A[k + 1] * f + u.A[1, 2] - u.A[n, k - k]
""",
    "a: Field[float], b: Field[float], t: GlobalTable[(np.float64, (8,))], "
    "u: GlobalTable[(np.float64, (2, 3))], n: int",
    arrays={
        "a": some((2, 3, 4), 76, 0, 6),
        "b": np.zeros((2, 3, 4)),
        "t": some((8,), 77),
        "u": some((2, 3), 78),
    },
    scalars={"n": ("int64", 1)},
)

add(
    "a table of a short type in a sweep",
    """
with computation(FORWARD):
    with interval(0, 1):
        b = t.A[0]
    with interval(1, None):
        b = b[0, 0, -1] * 0.5 + t.A[K] * a
""",
    "a: Field[float], b: Field[float], t: GlobalTable[(np.float32, (6,))]",
    arrays={
        "a": some((2, 2, 5), 79),
        "b": np.zeros((2, 2, 5)),
        "t": some((6,), 80).astype("float32"),
    },
)

# --- intervals of the call ------------------------------------------------------------------------

add(
    "an interval of the call",
    """
with computation(PARALLEL), interval(0, m):
    b = a
with computation(PARALLEL), interval(m, None):
    b = 2.0 * a
""",
    "a: Field[float], b: Field[float], m: int",
    arrays={"a": some((2, 2, 5), 110), "b": np.zeros((2, 2, 5))},
    scalars={"m": ("int64", 2)},
)

add(
    "an interval between elements",
    """
with computation(FORWARD), interval(r[0, 0][0], r[0, 0][1]):
    top = top + a
    if a > 0.0:
        b = top
""",
    "a: Field[float], b: Field[float], top: Field[IJ, float], r: Field[IJ, (np.int64, (2,))]",
    arrays={
        "a": some((2, 2, 5), 112),
        "b": np.zeros((2, 2, 5)),
        "top": np.zeros((2, 2)),
        "r": np.array([[[0, 2], [1, 5]], [[2, 2], [3, 4]]]),
    },
)

# --- regions outside of every domain --------------------------------------------------------------

add(
    "levels of an argument without influence",
    """
with computation(FORWARD), interval(...):
    b = a.at(K=p)
    with horizontal(region[I[0] - 1, :]):
        x[0, 0, p] = a + x[0, 0, p]
""",
    AROUND,
    **around(131),
)

add(
    "an element written in regions without points",
    """
with computation(FORWARD), interval(...):
    t = a
    with horizontal(region[I[0] - 1, :], region[I[-1] + 1, :]):
        v[0, 0, 0][1] = t
        b = t
    x = t * 2.0
""",
    "a: Field[float], b: Field[float], x: Field[float], v: Field[IJK, (np.float64, (3,))]",
    arrays={name: some((2, 2, 4), 132 + i) for i, name in enumerate("abx")}
    | {"v": some((2, 2, 4, 3), 135)},
)

add(
    "levels that a value gives, read at levels that one bounds",
    """
with computation(PARALLEL):
    with interval(0, 2):
        if a > b[0, 0, p + 1]:
            x = a
with computation(PARALLEL):
    with interval(0, p):
        b = x[0, 0, 2]
""",
    AROUND,
    **around(137),
)

DATA = tuple(name for name in EXAMPLES if name not in BEFORE)
