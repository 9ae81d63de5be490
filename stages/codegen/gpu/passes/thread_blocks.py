"""Choose the threads of a kernel and the size of their blocks.

A thread has a point, or a column of a scan; `widening.py` gives it several points, and then takes
the size of its block from the tables here.
"""

from __future__ import annotations

from typing import Final

from .....runtime.process import classes
from ....ir.loops import Const, Kernel, Nest, Symbol, with_nests
from ....ir.loops.gpu import marked
from ...pass_list import Rules
from ..options import options_of

MOST_AXES: Final = 3  # a grid has x, y and z
# Threads of a block along x, y, z, by the number of `thread` loops.
OF_POINTS: Final = ((), (256,), (32, 8), (32, 8, 1))
# Each thread of a scan keeps many numbers; small blocks let all multiprocessors share few columns.
OF_COLUMNS: Final = ((), (64,), (32, 2), (32, 2, 1))
# Where a thread has several points: neighbours along x, or points along other loops only.
OF_WIDE: Final = ((), (128,), (32, 4), (32, 4, 1))
# Where a thread has two rows and its halo is wide: blocks that are as high as they are wide.
OF_ROWS: Final = ((), (128,), (16, 8), (16, 8, 1))
OF_LEVELS: Final = ((), (128,), (128, 1), (128, 1, 1))
FLAT: Final = (128,)  # the points of all loops counted in one row


def spread(kernel: Kernel, rules: Rules) -> Kernel:
    """Give every iteration of the inner loops a thread; the loop over the levels of a scan stays.

    The innermost of these loops becomes x, so that neighbouring threads read neighbouring numbers
    if it has unit stride. Loops around the third run inside each thread.
    """
    return with_nests(kernel, lambda nest: _spread(nest, rules))


def _spread(nest: Nest, rules: Rules) -> Nest:
    free = len(nest.loops) - bool(nest.states)
    first = max(0, free - MOST_AXES)
    loops = tuple(
        classes.evolve(loop, kind="thread" if first <= level < free else "sequential")
        for level, loop in enumerate(nest.loops)
    )
    blocks = OF_COLUMNS if nest.states else OF_POINTS
    asked = options_of(rules).column_block.sizes if nest.states else ()
    block = asked[: free - first] or blocks[free - first]
    return marked(classes.evolve(nest, loops=loops), block=block)


def begins_with_thread(nest: Nest, points: int) -> bool:
    """Tell whether the first of a thread's points is the first of a row, as far as one can see.

    Domains that a call gives usually begin at 0; the hull of several boxes does not.
    """
    start = nest.loops[-1].range.start
    return start.value % points == 0 if isinstance(start, Const) else isinstance(start, Symbol)
