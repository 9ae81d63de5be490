"""Compute the rows of large arrays a block at a time, on all processors, with the same bits."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # brings `logging` along, which programs on a mesh do not need
    from concurrent.futures import ThreadPoolExecutor

BLOCK: Final = 1 << 14  # rows whose intermediate results stay in a cache


def in_rows(function: Callable[..., NDArray[Any]], *arrays: NDArray[Any]) -> NDArray[Any]:
    """Return what a function makes of arrays with the same number of rows, block by block.

    Args:
        function: computes each row of its result from the same row of its arguments alone.
        arrays: (rows, ...) each; NumPy computes them without Python's lock.

    >>> in_rows(lambda a, b: a + 2 * b, np.array([1, 2]), np.array([10, 20]))
    array([21, 42])
    """
    count = len(arrays[0])
    if count <= BLOCK:
        return function(*arrays)
    first = function(*(each[:BLOCK] for each in arrays))
    whole = np.empty((count, *first.shape[1:]), first.dtype)
    whole[:BLOCK] = first

    def fill(start: int) -> None:
        rows = slice(start, start + BLOCK)
        whole[rows] = function(*(each[rows] for each in arrays))

    list(_pool(os.getpid()).map(fill, range(BLOCK, count, BLOCK)))
    return whole


def sums(values: NDArray[np.float64], at: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Return `values` (n,) or (n, columns) added up, in their order, by their places `at` (n,).

    >>> sums(np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), 2)
    array([2., 4.])
    """
    if values.ndim == 1:
        return np.asarray(np.bincount(at, values, count), np.float64)
    columns = _pool(os.getpid()).map(lambda column: sums(column, at, count), values.T)
    return np.stack(list(columns), axis=1)


@functools.cache
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; a fork has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(len(os.sched_getaffinity(0)), "rows")
