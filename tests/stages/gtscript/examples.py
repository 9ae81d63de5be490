"""The examples of the specification, and more for each of its sections, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import Case, case_of

EXAMPLES: dict[str, Case] = {}


def column(*values: float, dtype: str = "float64") -> Any:
    """Return one column."""
    return np.array(values, dtype).reshape(1, 1, -1)


def row(*values: float, dtype: str = "float64") -> Any:
    """Return one row along I."""
    return np.array(values, dtype).reshape(-1, 1, 1)


def plane(*rows: tuple[float, ...]) -> Any:
    """Return a plane of rows along I, with one level."""
    return np.array(rows, "float64")[:, :, np.newaxis]


def add(name: str, body: str, arguments: str = "a: Field[float], b: Field[float]", *,
        before: str = "", **call: Any) -> None:  # fmt: skip
    """Add an example; the body is indented for a stencil `s`."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").split("\n"))
    arrays = call.pop("arrays")
    first = next(iter(arrays.values()))
    domain = call.pop("domain", first.shape if first.ndim == 3 else None)
    EXAMPLES[name] = case_of(f"{before}\ndef s({arguments}):\n{lines}\n", arrays, domain, **call)


def some(shape: tuple[int, ...], seed: int = 0, low: float = -2.0, high: float = 3.0) -> Any:
    """Return numbers."""
    return np.random.default_rng(seed).uniform(low, high, shape)


# --- 3 grammar --------------------------------------------------------------------------------

add(
    "tuples run element by element",
    """
with computation(PARALLEL), interval(...):
    a, b = b, a
""",
    arrays={"a": row(1), "b": row(2)},
)

add(
    "offsets by axis",
    """
with computation(PARALLEL), interval(...):
    b = a[I + 1] - a[I - 1, J + 1] + c[J - 1] + d[0]
""",
    "a: Field[float], b: Field[float], c: Field[IJ, float], d: Field[K, float]",
    arrays={
        "b": np.zeros((2, 2, 3)),
        "a": some((4, 3, 3)),
        "c": some((2, 3), 1),
        "d": some((3,), 2),
    },
    domain=(2, 2, 3),
    origin={"a": (1, 0, 0), "c": (0, 1)},
)

add(
    "functions",
    """
with computation(PARALLEL), interval(...):
    t = twice(a)
    x, y = both(a + t, b=2.0)
    b = x - y + twice(a=t) + smooth(a * w)
""",
    "a: Field[float], b: Field[float], w: float",
    before="""
@function
def twice(a):
    a = a + a
    return a

@function
def both(a, b=1.0, *, c=3.0):
    d = twice(a) if a > 0.0 else b
    return d + c, d[1, 0, 0] - b

@function
def smooth(u):
    return 0.5 * (u[1, 0, 0] + u[-1, 0, 0])
""",
    arrays={"b": np.zeros((3, 2, 2)), "a": some((7, 2, 2))},
    domain=(3, 2, 2),
    origin={"a": (2, 0, 0)},
    scalars={"w": ("float64", 0.25)},
)

add(
    "externals and constants",
    """
from __externals__ import n, scale, inner
with computation(PARALLEL), interval(n, None):
    if __INLINED(n > 1):
        b = a
    else:
        b = inner(a) * scale + C.g
    compile_assert(n == 1)
""",
    before="""
class C:
    g = 9.81

@function
def inner(x):
    from __externals__ import scale
    return x - scale

EXTERNALS = {"n": 1, "scale": np.float32(0.1), "inner": inner}
""",
    arrays={"b": np.zeros((1, 1, 4)), "a": column(1, 2, 3, 4)},
)

add(
    "typed temporaries",
    """
with computation(PARALLEL), interval(...):
    t: float32 = 0.1
    u: int = a
    b = t + u
""",
    arrays={"b": row(0, 0), "a": row(2.7, -1.5)},
)

# --- 4 types ----------------------------------------------------------------------------------

add(
    "integers with floats are floats",
    """
with computation(PARALLEL), interval(...):
    b = n + f
""",
    "b: Field[np.float32], n: Field[np.int64], f: np.float32",
    arrays={"b": row(0, dtype="float32"), "n": row(16777217, dtype="int64")},
    scalars={"f": ("float32", 0)},
)

add(
    "a temporary has its first type",
    """
with computation(PARALLEL), interval(...):
    t = 1
    t = a
    b = t
""",
    arrays={"b": row(0, 0), "a": row(2.7, -2.7)},
)

add(
    "rounding",
    """
with computation(PARALLEL), interval(...):
    b = round(a) + 100.0 * round_away_from_zero(a) + 10000.0 * floor(a) + 3.0 * trunc(a) - ceil(a)
    c = int32(a)
""",
    "b: Field[float], a: Field[float], c: Field[np.int32]",
    arrays={
        "b": row(*[0] * 8),
        "c": row(*[0] * 8, dtype="int32"),
        "a": row(0.5, 1.5, -0.5, -2.5, 2.5, 2.4, -7.6, 3.0),
    },
)

add(
    "mathematics",
    """
with computation(PARALLEL), interval(...):
    t = sin(a) + cos(a) * tan(a) - asin(a / 4.0) + acos(a / 4.0) + atan(a)
    t = t + sinh(a) * cosh(a) - tanh(a) + asinh(a) + acosh(a + 4.0) + atanh(a / 4.0)
    b = t + sqrt(abs(a)) + exp(a) + log(a + 3.5) + log10(a + 3.5) + gamma(a + 3.1) + cbrt(a)
    c = isfinite(a) and not isnan(a) or isinf(a)
""",
    "b: Field[float], a: Field[float], c: Field[bool]",
    arrays={"b": np.zeros((3, 3, 3)), "c": np.zeros((3, 3, 3), bool), "a": some((3, 3, 3), 4)},
)

add(
    "literals by dtypes",
    """
with computation(PARALLEL), interval(...):
    b = a * 0.1
    c = 0.1
""",
    "b: Field['T'], a: Field['T'], c: 'F'",
    before="DTYPES = {'T': np.float32, 'F': Field[np.float64], float: np.float32}\n",
    arrays={"b": row(0, 0, dtype="float32"), "a": row(1, 3, dtype="float32"), "c": row(0, 0)},
)

# --- 5 execution ------------------------------------------------------------------------------

add(
    "forward carries",
    """
with computation(FORWARD), interval(1, None):
    a = b[0, 0, -1] + 1.0
    b = a * 10.0
""",
    arrays={"a": column(0, 0, 0, 0), "b": column(1, 2, 3, 4)},
)

add(
    "reads ahead see old values",
    """
with computation(FORWARD), interval(0, -1):
    b = a[0, 0, 1]; a = 100.0
""",
    arrays={"a": column(1, 2, 3, 4), "b": column(0, 0, 0, 0)},
)

add(
    "a condition is evaluated once",
    """
with computation(PARALLEL), interval(...):
    if a > 0:
        a = -1.0
        b = 2.0
    else:
        b = 3.0
""",
    arrays={"a": row(1, -1), "b": row(0, 0)},
)

add(
    "a tridiagonal solver",
    """
with computation(FORWARD):
    with interval(0, 1):
        c = c / b
        d = d / b
    with interval(1, None):
        c = c / (b - a * c[0, 0, -1])
        d = (d - a * d[0, 0, -1]) / (b - a * c[0, 0, -1])
with computation(BACKWARD):
    with interval(-1, None):
        x = d
    with interval(0, -1):
        x = d - c * x[0, 0, 1]
""",
    "a: Field[float], b: Field[float], c: Field[float], d: Field[float], x: Field[float]",
    arrays={
        "x": np.zeros((3, 2, 6)),
        "a": some((3, 2, 6), 9, -1, 0),
        "b": some((3, 2, 6), 10, 3, 4),
        "c": some((3, 2, 6), 11, -1, 0),
        "d": some((3, 2, 6), 12),
    },
)

# --- 6 extents --------------------------------------------------------------------------------

add(
    "a negative boundary",
    """
with computation(PARALLEL), interval(...):
    b = a[1, 0, 0]
""",
    arrays={"b": row(0, 0), "a": row(1, 2)},
    domain=(2, 1, 1),
    origin={"a": (-1, 0, 0)},
)

add(
    "levels of the boundary",
    """
with computation(PARALLEL), interval(1, None):
    b = a[0, 0, -1] + a[0, 0, 2]
""",
    arrays={"b": column(0, 0, 0, 0), "a": column(1, 2, 3, 4, 5, 6)},
)

# --- 7 regions --------------------------------------------------------------------------------

add(
    "regions",
    """
with computation(PARALLEL), interval(...):
    t = a
    with horizontal(region[I[0], :], region[:, J[-1]]):
        t = a + 100.0
    with horizontal(region[I[0] - 1, :]):
        t = a + 1000.0
    b = t[-1, 0, 0]
""",
    arrays={"b": np.zeros((3, 3, 1)), "a": plane((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))},
    domain=(3, 3, 1),
    origin={"a": (1, 0, 0)},
)

add(
    "regions by externals",
    """
from __externals__ import first, last, far, near
with computation(PARALLEL), interval(start=0, end=None), horizontal(region[first : last, near]):
    b = a[1, 0, 0]
with computation(PARALLEL), interval(...):
    with horizontal(region[far : last, :], region[far, near]):
        c = a
""",
    "a: Field[float], b: Field[float], c: Field[float]",
    before="EXTERNALS = {'first': I[0] + 1, 'last': I[-1], 'near': J[0], 'far': I[0] - 32767}\n",
    arrays={"b": np.zeros((4, 2, 2)), "c": np.zeros((4, 2, 2)), "a": some((5, 2, 2), 22)},
    domain=(4, 2, 2),
)

add(
    "enumerations and functions in functions",
    """
with computation(PARALLEL), interval(...):
    if mode == Mode.B:
        b = outer(a, c=a[0, 1, 0])
    else:
        b = outer(b=a, a=2.0)
""",
    "a: Field[float], b: Field[float], mode: int",
    before="""
from enum import IntEnum

@enum
class Mode(IntEnum):
    A = 1
    B = 2

@function
def inner(x, y):
    z = x if x > y else y
    if z > 1.0:
        z = 1.0
    elif z < -1.0:
        z = -1.0
    return z

@function
def outer(a, b=0.5, c=1.5):
    d = inner(a, b)
    d = d + inner(b, c)
    return d * c
""",
    arrays={"b": np.zeros((3, 2, 2)), "a": some((3, 3, 2), 23)},
    domain=(3, 2, 2),
    scalars={"mode": ("int64", 2)},
)

add(  # the interpreter once wanted more of a region than any of its readers did
    "levels beyond the domain",
    """
with computation(PARALLEL), interval(1, None):
    y = h
with computation(PARALLEL), interval(1, -1):
    if a <= c:
        y = h
    elif b <= h:
        x = y
with computation(FORWARD), interval(...):
    y = x[0, 0, 2]
with computation(FORWARD), interval(-1, None):
    y = 2.0 * y[0, 0, 2]
""",
    ", ".join(f"{name}: Field[float]" for name in "abchxy"),
    arrays={name: some((2, 2, 10), 30 + place) for place, name in enumerate("yabchx")},
    domain=(2, 2, 6),
    origin=dict.fromkeys("abchxy", (0, 0, 2)),
)
