"""Compare what two executions wrote, bit for bit or within a relative tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...runtime.process import classes
from .values import Array


@classes.frozen
class Difference:
    """A field in which two executions differ: how many values, and the first of them."""

    leaf: str
    count: int = 0
    size: int = 0
    place: tuple[int, ...] = ()
    expected: str = ""
    found: str = ""
    largest: float = 0.0

    @classmethod
    def unknown(cls, leaf: str) -> Difference:
        """Return the difference of a field of which only a digest is known."""
        return cls(leaf)

    def __str__(self) -> str:
        if not self.size:
            return f"{self.leaf} has another digest than the record"
        where = ", ".join(map(str, self.place))
        return (
            f"{self.leaf}, {self.count} of {self.size} values, the first at array index ({where}): "
            f"{self.found} for {self.expected}; largest relative difference {self.largest:.3g}"
        )


def differences(
    expected: Mapping[str, Array], found: Mapping[str, Array], tolerance: float = 0.0
) -> tuple[Difference, ...]:
    """Return the fields that differ; not-a-number equals not-a-number.

    >>> one, two = np.array([1.0, 2.0]), np.array([1.0, 2.5])
    >>> str(*differences({"out": one}, {"out": two}))
    'out, 1 of 2 values, the first at array index (1): 2.5 for 2.0; largest relative difference 0.2'
    """
    each = (_difference(leaf, expected[leaf], found[leaf], tolerance) for leaf in expected)
    return tuple(one for one in each if one is not None)


def _difference(leaf: str, expected: Array, found: Array, tolerance: float) -> Difference | None:
    differs = ~_equal(expected, found)
    relative = _relative(expected, found, differs)
    if tolerance:
        differs &= ~(relative <= tolerance)
    count = int(differs.sum())
    if not count:
        return None
    place = tuple(int(at) for at in np.argwhere(differs)[0])
    return Difference(
        leaf, count, differs.size, place, str(expected[place]), str(found[place]),
        float(np.max(relative, where=differs, initial=0.0)),
    )  # fmt: skip


def _equal(one: Array, other: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Compare bits, so that -0.0 is not 0.0; every not-a-number is the same."""
    if one.dtype.kind != "f":
        return np.asarray(one == other)
    same = (one == other) & (np.signbit(one) == np.signbit(other))
    return np.asarray(same | (np.isnan(one) & np.isnan(other)))


def _relative(one: Array, other: Array, differs: Array) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
        size = np.maximum(np.abs(one), np.abs(other)).astype(np.float64)
        found = np.where(apart == 0, 0.0, apart / np.where(size == 0, 1.0, size))
    return np.where(differs, found, 0.0)
