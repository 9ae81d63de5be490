"""Number the edges of a mesh whose cells are given by their corners."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from ..process.errors import InputDataError

Table: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
MISSING: Final = -1


def number_edges(corners: Table) -> tuple[Table, Table]:
    """Return the edges of cells and the ends of edges, `C2E` and `E2V`, of the corners `C2V`.

    Edge k of a cell joins corner k and the next one. Edges are numbered by their smaller and then
    their larger end. Cells with fewer corners than others have -1 in the last columns.

    >>> c2e, e2v = number_edges(np.array([[0, 1, 2], [1, 3, 2]], np.int32))
    >>> c2e.tolist(), e2v.tolist()
    ([[0, 2, 1], [3, 4, 2]], [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]])
    """
    sides = _sides(corners)
    there = sides[..., 0] >= 0
    ends, number = np.unique(np.sort(sides[there], axis=-1), axis=0, return_inverse=True)
    edges = np.full(corners.shape, MISSING, np.int32)
    edges[there] = number.reshape(-1)
    return edges, ends.astype(np.int32)


def edges_between(corners: Table, ends: Table) -> Table:
    """Return the edges of cells, `C2E`, of their corners `C2V` and the ends of edges `E2V`."""
    sides = _sides(corners)
    there = sides[..., 0] >= 0
    width = int(max(corners.max(initial=0), ends.max(initial=0))) + 1
    keys = np.sort(ends.astype(np.int64), axis=1) @ np.array([width, 1])
    wanted = np.sort(sides[there], axis=1) @ np.array([width, 1])
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], wanted).clip(max=max(len(keys) - 1, 0))
    if not len(keys) or (keys[order][place] != wanted).any():
        raise InputDataError("Table 'E2V' lacks an edge between two corners in 'C2V'.")
    edges = np.full(corners.shape, MISSING, np.int32)
    edges[there] = order[place]
    return edges


def _sides(corners: Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the two corners of each side of each cell, -1 where a cell has fewer sides."""
    there = corners >= 0
    count = there.sum(axis=1)
    if (there[:, 1:] & ~there[:, :-1]).any():
        raise InputDataError("Table 'C2V' has a corner after a missing one; -1 stands last.")
    column = np.arange(corners.shape[1])
    following = np.where(column[None, :] + 1 < count[:, None], column[None, :] + 1, 0)
    after = np.take_along_axis(corners, following, axis=1)
    sides = np.stack([corners, after], axis=-1).astype(np.int64)
    return np.where(there[..., None], sides, MISSING)
