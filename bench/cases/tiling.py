"""What the hand-written kernels know of a table: how far it reaches, and who is in which tile."""

from __future__ import annotations

import numpy as np


def reach(table: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where each block of rows begins to read, where all so far end, and a ring that holds it.

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


def tiles(table: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return the table by places in each tile's list of entries, the lists, their begins, the longest."""
    width = int(table.max()) + 1
    tile = (np.arange(len(table)) // rows)[:, None]
    keys, place = np.unique(tile.astype(np.int64) * width + table, return_inverse=True)
    owner, entry = np.divmod(keys, width)
    begins = np.searchsorted(owner, np.arange(int(tile.max()) + 2))
    local = place.reshape(table.shape) - begins[tile]
    return (
        local.astype(np.int32),
        entry.astype(np.int32),
        begins.astype(np.int32),
        int(np.diff(begins).max()),
    )
