"""Orders of the points of a mesh in which neighbours are near, so that caches hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 12  # of each coordinate on a face of the cube: 2^12 squared places


def cube_curve(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the place of each point along Hilbert curves on the six faces of a cube.

    >>> cube_curve(np.array([[1.0, 0.0, 0.0], [1.0, 0.01, 0.0], [-1.0, 0.0, 0.0]])) // 4**BITS
    array([0, 0, 1])
    """
    axis = np.argmax(np.abs(points), axis=1)
    rows = np.arange(len(points))
    height = points[rows, axis]
    face = 2 * axis + (height < 0)
    flat = np.stack([points[rows, (axis + 1) % 3], points[rows, (axis + 2) % 3]])
    angle = np.arctan(flat / np.abs(height)) * (4 / np.pi)  # -1 to 1, squares of about one size
    x, y = ((angle + 1) * (0.5 * (2**BITS - 1))).astype(np.int64)
    return np.asarray(face * 4**BITS + _hilbert(x, y))


def _hilbert(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.int64]:
    """Place of (x, y) along the Hilbert curve, from the largest quadrant to the smallest."""
    place = np.zeros_like(x)
    for bit in reversed(range(BITS)):
        size = 1 << bit
        right, up = (x & size) > 0, (y & size) > 0
        place += size * size * ((3 * right) ^ up)
        mirrored = ~up & right
        x, y = np.where(mirrored, size - 1 - x, x), np.where(mirrored, size - 1 - y, y)
        x, y = np.where(up, x, y), np.where(up, y, x)
        x, y = x & (size - 1), y & (size - 1)
    return place


def breadth_first(pairs: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return points in rings around point 0; within a ring, in the order of those that led there.

    >>> breadth_first(np.array([[0, 3], [1, 3], [1, 2]]), 4)
    array([0, 3, 1, 2])
    """
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    degree = np.bincount(both[:, 0], minlength=count)
    neighbours = np.full((count, int(degree.max())), -1)
    column = np.arange(len(both)) - (np.cumsum(degree) - degree)[both[:, 0]]
    neighbours[both[:, 0], column] = both[:, 1]
    seen = np.zeros(count, bool)
    ring = np.array([0])
    rings = []
    while len(ring):
        seen[ring] = True
        rings.append(ring)
        found = neighbours[ring].ravel()
        found = found[(found >= 0) & ~seen[found]]
        ring = found[np.sort(np.unique(found, return_index=True)[1])]
    return np.concatenate(rings)
