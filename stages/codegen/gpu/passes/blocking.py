"""Plan scans for columns that do not fit: some levels of their arrays go through memory.

Shared memory has room for the levels at the end of the first scan, which the scans back need first;
the levels before them go to memory and come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from ....ir.bounds import (
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
from ....ir.loops.gpu import Columns, Long, marks_of
from ....ir.loops.nest import Load, Nest, Store
from ...schedule.costs import ITEMSIZES
from ...schedule.rules import Rules
from ..options import options_of

THREADS: Final = 32
OWN: Final = 1024  # bytes of shared memory that the system takes for a block
# Columns of 8-byte elements on a multiprocessor: so many that are whole, so many of long ones.
WHOLE: Final = 96
LONG: Final = 64
WIDE: Final = 8


def in_blocks(
    made: Columns, dtypes: Mapping[str, str], rules: Rules
) -> tuple[Columns, Columns] | None:
    """Return scans for columns that fit and for others; None where these cannot be one kernel."""
    ahead = marks_of(made.scans[0]).ahead
    if not options_of(rules).blocked or not ahead or not are_simple(made.scans, made.arrays):
        return None
    sizes = [ITEMSIZES[dtypes[name]] for name in made.arrays]
    long = _long(made, 2 * ahead, sizes, rules)
    if long is None:
        return None
    columns = WHOLE * WIDE // max(sizes)
    most = max(0, min(made.most, rules.target.core_memory * made.threads // columns - OWN))
    return attrs.evolve(made, most=most), long


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


def _long(made: Columns, rounds: int, sizes: Sequence[int], rules: Rules) -> Columns | None:
    """Return scans of long columns; None where shared memory has room for few levels."""
    range_ = made.scans[0].loops[-1].range
    own = options_of(rules)
    threads = own.column_block.x or THREADS
    level = threads * sum(sizes)
    share = rules.target.core_memory * threads * max(sizes) // (LONG * WIDE) - OWN
    most = min(own.target.block_memory, share)
    fitting = most // level // rounds * rounds
    if fitting <= 0:
        return None
    total = subtract(range_.stop, range_.start)
    levels = maximum(Const(rounds), minimum(Const(fitting), _whole(total, rounds)))
    rest = maximum(Const(0), _whole(subtract(total, fitting), rounds))
    outside = Range(range_.dim, range_.start, add(range_.start, rest))
    needed, load = multiply(levels, level), Long(levels, rest, outside)
    return Columns(made.arrays, threads, needed, most, made.scans, load)


def _whole(levels: Bound, rounds: int) -> Bound:
    """Return levels rounded up to pairs of rounds."""
    return multiply(floor_divide(add(levels, rounds - 1), Const(rounds)), rounds)
