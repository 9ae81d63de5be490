"""Fill an array in the kernel of another nest that reads the same fields at the same places.

On a mesh the stores of cells and of edges are nests of their own, and an array for the edges is
filled by a nest over cells, which reads the edges of a cell as the stores of cells do. In calls
where both nests have the same points, one kernel does the work of both and reads what they share
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ...ir.bounds import Bound, Const, Range, difference, maximum, multiply, subtract
from ...ir.flat_kernel import Kernel
from ...ir.nest_groups import Instead
from ...ir.nests import Instruction, Load, Nest, Store
from ..on_lists import on_lists
from ..schedule.rules import Rules
from .unrolling import joined

# The share of what the array's nest loads that the other nest must load too.
WORTH: Final = 0.75
LONGEST: Final = 400  # instructions


@on_lists
def fuse(kernel: Kernel, rules: Rules) -> Kernel:
    """Bring pairs of nests that share what they load beside each other, with a nest for both."""
    if rules.checked:
        return kernel
    place = 0
    while (pair := next(_pairs(kernel, place), None)) is not None:
        kernel = _fused(kernel, *pair)
        place = kernel.instead[-1].nest + 1
    return kernel


def _pairs(kernel: Kernel, first: int) -> Iterator[tuple[int, int]]:
    """Yield the places of a nest that fills arrays, and of one that reads the same."""
    above = _ancestors(kernel.nests)
    for fills in range(first, len(kernel.nests)):
        for other in range(first, len(kernel.nests)):
            alone = other not in above[fills] and fills not in above[other] and other != fills
            if alone and _go_together(kernel, kernel.nests[fills], kernel.nests[other]):
                yield fills, other


def _ancestors(nests: Sequence[Nest]) -> list[set[int]]:
    """Return for each nest the nests before it that must stay before it."""
    above: list[set[int]] = []
    touched = [(_names(nest, Load), _names(nest, Store)) for nest in nests]
    for number, (loads, stores) in enumerate(touched):
        found: set[int] = set()
        for before in range(number):
            read, written = touched[before]
            if written & (loads | stores) or read & stores:
                found |= {before} | above[before]
        above.append(found)
    return above


def _names(nest: Nest, kind: type[Load | Store]) -> set[str]:
    return {row.buffer for row in nest.body if isinstance(row, kind)}


def _go_together(kernel: Kernel, fills: Nest, other: Nest) -> bool:
    """Tell whether the second nest may fill the arrays of the first, and reads what that reads."""
    if any(nest.states or nest.parts or len(nest.loops) < 2 for nest in (fills, other)):
        return False
    if kernel.statement_of(fills) != kernel.statement_of(other):
        return False
    memory = {buffer.name: buffer.memory for buffer in kernel.buffers}
    if any(memory[name] != "arena" for name in _names(fills, Store)):
        return False
    dims = [[range_.dim for range_ in nest.box] for nest in (fills, other)]
    if dims[0] != dims[1] or any(
        _is_apart(*pair) for pair in zip(fills.box, other.box, strict=True)
    ):
        return False
    return _is_worth(kernel, fills, other)


def _is_apart(one: Range, other: Range) -> bool:
    """Tell whether two ranges are known to differ."""
    gaps = (difference(one.start, other.start), difference(one.stop, other.stop))
    return any(gap not in (None, 0) for gap in gaps)


def _is_worth(kernel: Kernel, fills: Nest, other: Nest) -> bool:
    """Tell whether the second nest loads most of what the first does, and both are short."""
    body = joined((fills, other), {buffer.name: buffer.dims for buffer in kernel.buffers})
    own, others, all_ = (_inner(rows, len(fills.loops)) for rows in (fills.body, other.body, body))
    shared = len(own) + len(others) - len(all_)
    return len(body) <= LONGEST and bool(own) and shared >= WORTH * len(own)


def _inner(body: Sequence[Instruction], level: int) -> list[Load]:
    return [row for row in body if isinstance(row, Load) and row.level == level]


def _fused(kernel: Kernel, fills: int, other: int) -> Kernel:
    """Move two nests beside each other, after what both need, and add the nest for both."""
    above = _ancestors(kernel.nests)
    needed = above[fills] | above[other]
    start = min(fills, other)
    later = [n for n in range(start, len(kernel.nests)) if n not in (*needed, fills, other)]
    ahead = [n for n in range(start, len(kernel.nests)) if n in needed]
    one, two = kernel.nests[fills], kernel.nests[other]
    made = _both(kernel, one, two)
    order = [*kernel.nests[:start], *(kernel.nests[n] for n in ahead), one, two, made]
    first = start + len(ahead)
    when = same_points(one, two)
    names = ", ".join(sorted(_names(one, Store)))
    reason = f"{names} from what nest {first + 1} reads too"
    instead = Instead(first, first + 2, when, reason)
    nests = (*order, *(kernel.nests[n] for n in later))
    return attrs.evolve(kernel, nests=nests, instead=(*kernel.instead, instead))


def _both(kernel: Kernel, fills: Nest, other: Nest) -> Nest:
    """Return the nest that does the work of two; their own readings stand for its own."""
    body = joined((fills, other), {each.name: each.dims for each in kernel.buffers})
    reason = f"{other.reason}; {fills.reason.partition(';')[0]} too"
    return attrs.evolve(other, body=body, reason=reason, reads=())


def same_points(one: Nest, other: Nest) -> Bound:
    """Return 1 in calls where the loops of two nests have the same ranges, 0 in others."""
    apart: Bound = Const(0)
    for left, right in zip(one.box, other.box, strict=True):
        for start, stop in ((left.start, right.start), (left.stop, right.stop)):
            if start != stop:
                gap = subtract(start, stop)
                apart = maximum(apart, maximum(gap, multiply(gap, -1)))
    return maximum(Const(0), subtract(Const(1), apart))
