"""Plan scans for columns that do not fit: some levels of their arrays go through memory.

Shared memory has room for the levels at the end of the first scan, which the scans back need first;
the levels before them go to memory and come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from ...ir.bounds import (
    Bound,
    Const,
    Range,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    subtract,
)
from ...ir.flat_kernel import Kernel
from ...ir.nest_groups import Blocked, Together
from ...ir.nests import Load, Nest, Store
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules

THREADS: Final = 32
OWN: Final = 1024  # bytes of shared memory that the system takes for a block
# Columns of 8-byte elements on a multiprocessor: so many that are whole, so many of long ones.
WHOLE: Final = 96
LONG: Final = 64
WIDE: Final = 8


def in_blocks(kernel: Kernel, scans: Together, rules: Rules) -> Together:
    """Return scans that have a kernel for columns that do not fit."""
    nests = kernel.nests[scans.first : scans.stop]
    if not rules.gpu.blocked or not nests[0].ahead or not are_simple(nests, scans.arrays):
        return scans
    dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
    sizes = [ITEMSIZES[dtypes[name]] for name in scans.arrays]
    made = _blocked(nests[0], sizes, rules)
    if made is None:
        return scans
    columns = WHOLE * WIDE // max(sizes)
    most = max(0, min(scans.most, rules.target.core_memory * scans.threads // columns - OWN))
    reason = f"{scans.reason}; levels that do not fit go to memory and come back"
    return attrs.evolve(scans, most=most, blocked=made, reason=reason)


def are_simple(nests: Sequence[Nest], arrays: Sequence[str]) -> bool:
    """Tell whether all scans have the levels of the first, and touch arrays at their own."""
    first = nests[0].loops[-1]
    return not first.backward and all(
        nest.loops[-1].range == first.range
        and all(
            not any(row.offsets)
            for row in nest.body
            if isinstance(row, Load | Store) and row.buffer in arrays
        )
        for nest in nests
    )


def _blocked(first: Nest, sizes: Sequence[int], rules: Rules) -> Blocked | None:
    """Return the plan; None where shared memory has room for few levels."""
    range_ = first.loops[-1].range
    rounds = 2 * first.ahead
    (threads,) = rules.gpu.column_block[:1] or (THREADS,)
    level = threads * sum(sizes)
    share = rules.target.core_memory * threads * max(sizes) // (LONG * WIDE) - OWN
    most = min(rules.gpu.most_shared, share)
    fitting = most // level // rounds * rounds
    if fitting <= 0:
        return None
    total = subtract(range_.stop, range_.start)
    levels = maximum(Const(rounds), minimum(Const(fitting), _whole(total, rounds)))
    rest = maximum(Const(0), _whole(subtract(total, fitting), rounds))
    outside = Range(range_.dim, range_.start, add(range_.start, rest))
    return Blocked(threads, levels, rest, outside, multiply(levels, level), most)


def _whole(levels: Bound, rounds: int) -> Bound:
    """Return levels rounded up to pairs of rounds."""
    return multiply(floor_divide(add(levels, rounds - 1), Const(rounds)), rounds)
