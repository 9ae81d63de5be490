"""The arrays of a case as the tools want them: (k, j, i), contiguous or with rows on lines."""

from __future__ import annotations

from typing import Any

import numpy as np

LINE = 64  # bytes


def loaded(given: dict[str, Any]) -> np.ndarray:
    """Return an array in the order of its dimensions, from its file."""
    return np.load(given["file"])


def shape_of(given: dict[str, Any]) -> tuple[int, ...]:
    """Return how many indices each dimension has."""
    return tuple(stop - start for _, start, stop in given["domain"])


def halo_of(given: dict[str, Any]) -> int:
    """Return how many cells lie before index 0 of the first dimension."""
    return -int(given["domain"][0][1])


def upside(array: np.ndarray) -> np.ndarray:
    """Return (k, j, i) of (i, j, k), contiguous."""
    return np.ascontiguousarray(array.transpose())


def on_lines(array: np.ndarray, halo: int = 0) -> np.ndarray:
    """Return an array of the same values whose rows have cell `halo` on a cache line.

    It is a view: rows have room for a line more on either side.
    """
    per_line = LINE // array.itemsize
    wide = -(-array.shape[-1] // per_line) * per_line + 2 * per_line
    rows = int(np.prod(array.shape[:-1], dtype=np.int64))
    memory = np.zeros(rows * wide + per_line, array.dtype)
    ahead = -memory.ctypes.data % LINE // array.itemsize
    whole = memory[ahead : ahead + rows * wide].reshape(*array.shape[:-1], wide)
    view = whole[..., per_line - halo : per_line - halo + array.shape[-1]]
    view[...] = array
    return view
