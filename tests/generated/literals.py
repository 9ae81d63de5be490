"""Numbers for generated programs and their data: many ordinary ones, and all that bite."""

import math
from typing import Any, Final

import numpy as np

from .pieces import FLOATS, Draw

ORDINARY: Final = ("1", "2", "3", "0", "-1", "7", "5")
_FLOATS: Final = ("1.0", "0.5", "2.0", "0.0", "-1.5", "3.25", "-0.0", "0.1", "1e10", "-7.0", "1e-3")
_ODD_FLOATS: Final = ("inf", "-inf", "nan")


def literal(d: Draw, dtype: str) -> str:
    """Return a number of a type as a program writes it."""
    if dtype == "bool":
        return d.pick(("True", "False"))
    if dtype in FLOATS:
        if d.chance(8):
            return f'{dtype}("{d.pick(_ODD_FLOATS)}")'
        text = d.pick(_FLOATS)
        return text if dtype == "float64" and d.chance(50) else f"{dtype}({text})"
    bounds = np.iinfo(dtype)
    extremes = (str(bounds.max), str(bounds.min)) if bounds.min < 0 else (str(bounds.max),)
    numbers = [text for text in ORDINARY if int(text) >= bounds.min]
    if d.chance(15):
        return f"{dtype}({d.pick(extremes)})"
    text = d.pick(numbers)
    return text if dtype == "int32" and d.chance(50) else f"{dtype}({text})"


def specials(dtype: str) -> np.ndarray[Any, Any]:
    """Return the values of a type at which operations go wrong."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype not in FLOATS:
        bounds = np.iinfo(dtype)
        near = [bounds.min, bounds.min + 1, bounds.max, bounds.max - 1, bounds.max // 2, 0, 0, 1]
        return np.array([*near, *([-1, -1, -2] if bounds.min < 0 else [2])], dtype=dtype)
    limits = np.finfo(dtype)
    values = [
        *(0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5),
        *(limits.max, -limits.max, limits.tiny, -limits.tiny, float(limits.smallest_subnormal)),
        *(2.0**31, -(2.0**31) - 1.0, 2.0**63, -(2.0**63), 2.0**64, 1e300, 127.5, 255.9, -128.9),
    ]
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype)


def ordinary(generator: np.random.Generator, dtype: str, count: int) -> np.ndarray[Any, Any]:
    """Return values of a type that are not special: small integers, floats of many sizes."""
    if dtype == "bool":
        return generator.integers(0, 2, count).astype(bool)
    if dtype not in FLOATS:
        low = -20 if np.iinfo(dtype).min < 0 else 0
        return generator.integers(low, 21, count).astype(dtype)
    return (generator.normal(size=count) * 10.0 ** generator.integers(-3, 4, count)).astype(dtype)


def data(seed: int, dtype: str, shape: tuple[int, ...], percent: int) -> np.ndarray[Any, Any]:
    """Return an array in which so many of a hundred values are special."""
    generator = np.random.default_rng(seed)
    count = math.prod(shape)
    values = ordinary(generator, dtype, count)
    odd = specials(dtype)
    chosen = generator.integers(0, 100, count) < percent
    return np.where(chosen, odd[generator.integers(0, len(odd), count)], values).reshape(shape)


def spell(value: Any) -> str:
    """Return a number so that Python reads back the same one."""
    kind = np.asarray(value).dtype.kind
    if kind == "b":
        return str(bool(value))
    return repr(float(value)) if kind == "f" else str(int(value))
