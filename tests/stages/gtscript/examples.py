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
