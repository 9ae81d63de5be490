"""Tiles of neighbour tables for hand-written kernels: their reach and their elements."""

from __future__ import annotations

import attrs
import numpy as np


def reach(table: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where each block of rows begins to read, where all so far end, and a ring for both.

    The ring is the power of two above the longest stretch between the smallest entry still to
    come and the largest one so far.
    """
    starts = np.arange(0, len(table), block)
    low = np.minimum.reduceat(table.min(axis=1), starts)
    high = np.maximum.reduceat(table.max(axis=1), starts) + 1
    begun = np.minimum.accumulate(low[::-1])[::-1]
    done = np.maximum.accumulate(high)
    ring = 1 << int((done - begun).max() - 1).bit_length()
    return np.ascontiguousarray(begun, np.int32), np.ascontiguousarray(done, np.int32), ring


@attrs.frozen(eq=False)
class Tiles:
    """Tables whose rows are cut into `count` equal parts, and a list of each part's entries."""

    count: int
    tables: tuple[np.ndarray, ...]  # by place in the list of the row's part
    listed: np.ndarray
    begins: np.ndarray  # of each part's list, and where the last one ends
    longest: int


def tiles(count: int, *tables: np.ndarray) -> Tiles:
    """Cut tables into parts; part t begins at row `ceil(t * rows / count)` of each."""
    width = 1 + max(int(table.max()) for table in tables)
    parts = [np.arange(len(table), dtype=np.int64) * count // len(table) for table in tables]
    keys = [part[:, None] * width + table for part, table in zip(parts, tables, strict=True)]
    found, places = np.unique(np.concatenate([each.ravel() for each in keys]), return_inverse=True)
    owner, entry = np.divmod(found, width)
    begins = np.searchsorted(owner, np.arange(count + 1))
    ends = np.cumsum([table.size for table in tables])[:-1]
    local = [
        (place.reshape(table.shape) - begins[part][:, None]).astype(np.int32)
        for place, table, part in zip(np.split(places.ravel(), ends), tables, parts, strict=True)
    ]
    return Tiles(
        count,
        tuple(local),
        entry.astype(np.int32),
        begins.astype(np.int32),
        int(np.diff(begins).max()),
    )
