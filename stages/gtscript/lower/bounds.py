"""The bounds of intervals and regions as bounds of the dataflow IR: 0, `domain.K` + n, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import bounds
from ...ir.bounds import Bound, Const, Range, Ranges, ScalarSymbol, add
from ...ir.dataflow import Side
from ...ir.stencil import Block, End, Limits
from ..axes import AXES, I, J, K, size_of

ZERO: Final = Const(0)
FIRST: Final = End(False, 0)
LAST: Final = End(True, 0)


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
    return (block.start, block.stop) == (FIRST, LAST)


def with_first(block: Block) -> Block | None:
    """Return a block with the level before it, in its order, if that begins the domain."""
    if block.order == "forward":
        is_next = block.start == End(False, 1)
        return classes.evolve(block, start=FIRST) if is_next else None
    is_next = block.stop == End(True, -1)
    return classes.evolve(block, stop=LAST) if is_next else None


def side_of(block: Block, is_open: bool) -> Side | None:
    """Return the levels of a block; with `is_open` the ends of the domain are open.

    None stands for all levels.
    """
    start, stop = levels_of(block)
    low = None if is_open and block.start == FIRST else start
    high = None if is_open and block.stop == LAST else stop
    return None if low is None and high is None else Side(K, low, high)


def stays_inside(block: Block, k: int, least: int) -> bool:
    """Tell whether reads at an offset along K stay in any domain of `least` levels or more."""
    lowest = block.start.offset + k + (least if block.start.of_end else 0)
    highest = block.stop.offset + k - (0 if block.stop.of_end else least)
    return lowest >= 0 and highest <= 0


def box_of(limits: Limits) -> tuple[Side, ...]:
    """Return the box of a region; no sides stand for everywhere."""
    sides = []
    for dim, (start, stop) in ((I, limits.i), (J, limits.j)):
        if start is not None or stop is not None:
            low = None if start is None else bound_of(start, dim)
            high = None if stop is None else bound_of(stop, dim)
            sides.append(Side(dim, low, high))
    return tuple(sides)


def written_box(axes: str, writes: Sequence[tuple[Block, Limits | None]], least: int) -> Ranges:
    """Return the smallest box around what some assignments to a field write in the domain."""
    ranges = []
    for axis in axes:
        dim = AXES[axis]
        if dim is K:
            ranges.append(_around([block for block, _ in writes], least))
            continue
        sides = [_sides(limits, dim) for _, limits in writes]
        lows = [_clipped(start, dim, bounds.maximum, ZERO) for start, _ in sides]
        highs = [_clipped(stop, dim, bounds.minimum, size(dim)) for _, stop in sides]
        start = ZERO if ZERO in lows else bounds.least(lows)
        stop = size(dim) if size(dim) in highs else bounds.greatest(highs)
        ranges.append(Range(dim, start, stop))
    return tuple(ranges)


def _around(blocks: Sequence[Block], least: int) -> Range:
    """Return the levels of some blocks; a domain has at least so many that none is empty."""
    lows = _by_end(block.start for block in blocks)
    highs = _by_end(block.stop for block in blocks)
    starts = [bound_of(End(of_end, min(each)), K) for of_end, each in lows.items()]
    stops = [bound_of(End(of_end, max(each)), K) for of_end, each in highs.items()]
    if len(lows) > 1 and min(lows[False]) <= least + min(lows[True]):
        starts = [Const(min(lows[False]))]
    if len(highs) > 1 and max(highs[False]) <= least + max(highs[True]):
        stops = [bound_of(End(True, max(highs[True])), K)]
    return Range(K, bounds.least(starts), bounds.greatest(stops))


def _by_end(ends: Iterable[End]) -> dict[bool, list[int]]:
    found: dict[bool, list[int]] = {}
    for end in ends:
        found.setdefault(end.of_end, []).append(end.offset)
    return found


def _sides(limits: Limits | None, dim: Dimension) -> tuple[End | None, End | None]:
    if limits is None:
        return None, None
    return limits.i if dim is I else limits.j


def _clipped(
    end: End | None, dim: Dimension, clip: Callable[[Bound, Bound], Bound], limit: Bound
) -> Bound:
    return limit if end is None else clip(limit, bound_of(end, dim))
