"""The memory layout of fields: the contiguous axis, padding, alignment."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..language import Dimension, DimensionKind

ALIGNMENT: Final = 64  # bytes: a cache line, and the widest vector register of a CPU
PAGE: Final = 4096  # bytes
LARGE: Final = 64 * PAGE  # bytes of arrays, beside which a page is little
_shifts: Final = itertools.count(step=5)  # lines, so that neighbouring lines meet last
_OUTWARDS: Final = (DimensionKind.HORIZONTAL, DimensionKind.LOCAL, DimensionKind.VERTICAL)


def memory_order(dims: Sequence[Dimension]) -> tuple[int, ...]:
    """Return the axes from the smallest stride to the largest, as a CPU wants them.

    With two or more horizontal dimensions the first of them is contiguous and the
    vertical is outermost; with one, a whole column is contiguous (and a row of a
    neighbour table, where there is no column).

    >>> I, J = Dimension("I"), Dimension("J")
    >>> K = Dimension("K", DimensionKind.VERTICAL)
    >>> memory_order((I, J, K)), memory_order((I, K))
    ((0, 1, 2), (1, 0))
    """
    kinds = [dim.kind for dim in dims]
    if kinds.count(DimensionKind.HORIZONTAL) >= 2:
        return tuple(sorted(range(len(dims)), key=lambda axis: _OUTWARDS.index(kinds[axis])))
    return tuple(sorted(range(len(dims)), key=lambda axis: -_OUTWARDS.index(kinds[axis])))


def padded_strides(
    shape: Sequence[int], order: Sequence[int], itemsize: int, alignment: int = ALIGNMENT
) -> tuple[int, ...]:
    """Return strides in bytes for `order`, with every contiguous row padded to `alignment`.

    >>> padded_strides((3, 2, 4), (0, 1, 2), itemsize=8)
    (8, 64, 128)
    """
    strides = [itemsize] * len(shape)
    step = itemsize
    for place, axis in enumerate(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
        if place == 0 and shape[axis] > 1 and len(order) > 1:
            step = -(-step // alignment) * alignment
    return tuple(strides)


def allocate(
    shape: Sequence[int],
    dims: Sequence[Dimension],
    dtype: np.dtype[Any],
    *,
    aligned_index: Sequence[int] | None = None,
    zeroed: bool = False,
    alignment: int = ALIGNMENT,
) -> np.ndarray[Any, np.dtype[Any]]:
    """Make a NumPy array laid out for `dims`.

    The first element, or the one at `aligned_index` (counted from the first), is
    aligned, and where rows are padded so are the elements at the same place in all other rows.
    """
    order = memory_order(dims)
    by_row = bool(order) and dims[order[0]].kind is DimensionKind.LOCAL
    # a row of neighbours is short: padding to a cache line would waste memory
    row = dtype.itemsize if by_row else alignment
    strides = padded_strides(shape, order, dtype.itemsize, row)
    if 0 in shape:
        return np.empty(tuple(shape), dtype)
    size = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    # zeros come from the system untouched, so the threads that first write decide where they lie
    index = aligned_index or (0,) * len(shape)
    ahead = sum(place * stride for place, stride in zip(index, strides, strict=True))
    memory, offset = aligned_memory(size + dtype.itemsize, ahead, alignment, zeroed=zeroed)
    return np.ndarray(tuple(shape), dtype, buffer=memory, offset=offset, strides=strides)


def aligned_memory(
    size: int, ahead: int, alignment: int, *, zeroed: bool
) -> tuple[np.ndarray[Any, Any], int]:
    """Return memory and where `size` bytes begin in it, so that byte `ahead` of them is aligned.

    Large arrays begin at different places of a page: loads wait for stores that have the last 12
    bits of their address, and rows of many arrays would share the sets of the first cache.
    """
    shift = next(_shifts) * alignment % PAGE if size >= LARGE else 0
    memory = (np.zeros if zeroed else np.empty)(size + shift + alignment, np.uint8)
    return memory, -(memory.ctypes.data + shift + ahead) % alignment + shift
