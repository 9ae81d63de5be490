"""The bounds of intervals and regions as bounds of the dataflow IR: 0, `domain.K` + n, ..."""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime.language.dimension import Dimension
from ...ir.bounds import (
    Bound,
    Const,
    Range,
    Ranges,
    ScalarSymbol,
    add,
    greatest,
    least,
    maximum,
    minimum,
)
from ...ir.dataflow import Side
from ...ir.stencil import Block, End, Limits
from ..axes import AXES, I, J, K, size_of

ZERO = Const(0)


def size(dim: Dimension) -> Bound:
    """Return the number of points of the domain along a dimension."""
    return ScalarSymbol(size_of(dim.value))


def bound_of(end: End, dim: Dimension) -> Bound:
    """Return a bound as an index: the domain starts at 0."""
    return add(size(dim), end.offset) if end.of_end else Const(end.offset)


def levels_of(block: Block) -> tuple[Bound, Bound]:
    """Return the first level of a block, and one past the last."""
    return bound_of(block.start, K), bound_of(block.stop, K)


def is_whole(block: Block) -> bool:
    """Tell whether a block has all levels."""
    return (block.start, block.stop) == (End(False, 0), End(True, 0))


def box_of(limits: Limits) -> tuple[Side, ...]:
    """Return the box of a region; no sides stand for everywhere."""
    sides = []
    for dim, (start, stop) in ((I, limits.i), (J, limits.j)):
        if start is not None or stop is not None:
            low = None if start is None else bound_of(start, dim)
            high = None if stop is None else bound_of(stop, dim)
            sides.append(Side(dim, low, high))
    return tuple(sides)


def written_box(axes: str, writes: Sequence[tuple[Block, Limits | None]]) -> Ranges:
    """Return the smallest box around what some assignments to a field write in the domain."""
    ranges = []
    for axis in axes:
        dim = AXES[axis]
        pairs = [_written(dim, block, limits) for block, limits in writes]
        start = least(low for low, _ in pairs)
        stop = greatest(high for _, high in pairs)
        ranges.append(Range(dim, start, stop))
    return tuple(ranges)


def _written(dim: Dimension, block: Block, limits: Limits | None) -> tuple[Bound, Bound]:
    if dim is K:
        return levels_of(block)
    start, stop = (None, None) if limits is None else limits.i if dim is I else limits.j
    low = ZERO if start is None else maximum(ZERO, bound_of(start, dim))
    high = size(dim) if stop is None else minimum(size(dim), bound_of(stop, dim))
    return low, high
