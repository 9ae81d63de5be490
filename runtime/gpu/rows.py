"""Rows of arrays: elements that follow each other in memory.

Drivers copy rows. Between arrays whose rows differ they copy each element by itself, about a
million a second.
"""

from __future__ import annotations

import math

from .native import ArrayBase


def slowest_first(array: ArrayBase) -> list[int]:
    """Return the axes by their strides; those without a second element are the slowest."""
    strides = [
        abs(s) if n > 1 else math.inf for n, s in zip(array.shape, array.strides, strict=True)
    ]
    return sorted(range(array.ndim), key=lambda axis: -strides[axis])


def rows_differ(one: ArrayBase, other: ArrayBase) -> bool:
    """Tell whether elements that follow each other in one array do not in another."""
    return bool(one.ndim) and (
        one.strides[axis := slowest_first(one)[-1]] == one.itemsize != other.strides[axis]
    )
