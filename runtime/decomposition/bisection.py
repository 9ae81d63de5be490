"""Share points among ranks by recursive bisection of their coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pattern import Indices


def bisect(coordinates: NDArray[Any], ranks: int) -> Indices:
    """Return the rank of each point, (points,).

    Cuts across the longest extent, again and again. The ranks' numbers of points differ by one at
    most per cut; points at equal coordinates are taken in their order, so the result is the same
    everywhere.

    Args:
        coordinates: (points, axes), in units that can be compared; on a sphere x, y and z.
        ranks: any number; more than there are points leaves ranks empty.

    >>> bisect(np.array([[0.0, 0.0], [9.0, 0.0], [1.0, 1.0], [8.0, 1.0]]), 2)
    array([0, 1, 0, 1])
    """
    owners = np.zeros(len(coordinates), np.int64)
    _cut(np.asarray(coordinates), np.arange(len(coordinates)), 0, ranks, owners)
    return owners


def _cut(coordinates: NDArray[Any], ids: Indices, rank: int, ranks: int, owners: Indices) -> None:
    if ranks == 1 or not len(ids):
        owners[ids] = rank
        return
    here = coordinates[ids]
    axis = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
    order = ids[np.argsort(here[:, axis], kind="stable")]
    lower = ranks // 2
    middle = len(ids) * lower // ranks
    _cut(coordinates, np.sort(order[:middle]), rank, lower, owners)
    _cut(coordinates, np.sort(order[middle:]), rank + lower, ranks - lower, owners)
