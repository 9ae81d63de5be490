"""Spread loops over the threads of a GPU: a thread for each point, or for each column of a scan."""

from __future__ import annotations

from typing import Final, Literal

import attrs

from ...ir.flat_kernel import Kernel
from ...ir.nests import Loop, Nest
from ..on_lists import on_lists
from ..schedule.rules import Rules

MOST_AXES: Final = 3  # a grid has x, y and z
# Threads of a block along x, y, z, by the number of `thread` loops.
_OF_POINTS: Final = ((), (256,), (32, 8), (32, 8, 1))
# Each thread of a scan keeps many numbers; small blocks let all multiprocessors share few columns.
_OF_COLUMNS: Final = ((), (64,), (32, 2), (32, 2, 1))


@on_lists
def spread(kernel: Kernel, rules: Rules) -> Kernel:
    """Give every iteration of the inner loops a thread; the loop over the levels of a scan stays.

    The innermost of these loops becomes x, so that neighbouring threads read neighbouring numbers
    if it has unit stride. Loops around the third run inside each thread.
    """
    return spread_lists(kernel, rules)


def spread_lists(kernel: Kernel, rules: Rules) -> Kernel:
    """Do so with lists."""
    return attrs.evolve(kernel, nests=tuple(_spread(nest, rules) for nest in kernel.nests))


def _spread(nest: Nest, rules: Rules) -> Nest:
    free = len(nest.loops) - bool(nest.states)
    first = max(0, free - MOST_AXES)
    loops = tuple(
        _with_kind(loop, "thread" if first <= level < free else "sequential")
        for level, loop in enumerate(nest.loops)
    )
    blocks = _OF_COLUMNS if nest.states else _OF_POINTS
    asked = rules.gpu.column_block if nest.states else ()
    block = asked[: free - first] or blocks[free - first]
    return attrs.evolve(nest, loops=loops, block=block)


def _with_kind(loop: Loop, kind: Literal["thread", "sequential"]) -> Loop:
    return attrs.evolve(loop, kind=kind)
