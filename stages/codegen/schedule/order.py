"""The order of loops: which dimension is vectorised, and the order of the outer loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....runtime.fields import memory_order
from ....runtime.language import Dimension
from ...ir.loops import NestLoop, Range, Ranges
from ..pass_list import Rules

THREADED = 2  # outer loops that threads share as one


def unit_dims(
    unit: Iterable[tuple[str, str]], fields: Mapping[str, Sequence[Dimension]]
) -> dict[str, Dimension]:
    """Return the unit-stride dimension of each field whose layout is known."""
    known = dict(unit)
    return {
        name: dim
        for name, dims in sorted(fields.items())
        for dim in dims
        if known.get(name) == dim.value
    }


def order_dims(
    dims: Sequence[Dimension], units: Iterable[Dimension]
) -> tuple[tuple[Dimension, ...], str]:
    """Return the dimensions from the outermost loop to the innermost, and why.

    The innermost is the dimension that has unit stride in most fields. The others follow by
    descending stride in the layout of our allocators (or of C, if the last dimension is innermost).
    """
    natural = [dims[axis] for axis in reversed(memory_order(dims))]
    votes = [dim for dim in units if dim in dims]
    if not votes:
        return tuple(natural), "layout unknown: order of our allocators"
    inner = max(reversed(natural), key=votes.count)
    reason = f"{inner.value} has unit stride in {votes.count(inner)} of {len(votes)} fields"
    outer = dims if inner is dims[-1] and inner is not natural[-1] else natural
    return (*(dim for dim in outer if dim is not inner), inner), reason


def order_of(box: Ranges, rules: Rules) -> tuple[tuple[Dimension, ...], str]:
    """Return the dimensions of a box from the outermost loop to the innermost, and why."""
    return order_dims([range_.dim for range_ in box], [dim for _, dim in rules.units])


def loops_over(box: Ranges, order: Sequence[Dimension]) -> tuple[NestLoop, ...]:
    """Return loops over `box`: threads share the outermost, the innermost is vectorised."""
    ranges: dict[Dimension, Range] = {range_.dim: range_ for range_ in box}
    last = len(order) - 1
    return tuple(
        NestLoop(
            "vector" if i == last else "parallel" if i < THREADED else "sequential", ranges[dim]
        )
        for i, dim in enumerate(order)
    )


def level_of(dims: Iterable[Dimension], loops: Sequence[NestLoop]) -> int:
    """Return how many loops must enclose a value that varies over `dims`.

    Nothing can stand between the loops that threads share as one.
    """
    walked = [loop.range.dim for loop in loops]
    level = max((walked.index(dim) + 1 for dim in dims), default=0)
    return max(level, sum(loop.kind == "parallel" for loop in loops)) if level else 0
