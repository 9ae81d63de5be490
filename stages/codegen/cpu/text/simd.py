"""How many points a strip of an innermost loop has, and the pragma that makes them lanes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ....ir.loops import ITEMSIZES, LINE, Compute, Instruction, Load, Nest, Store
from ...rows import Scope
from ...schedule.costs import TRANSCENDENTAL, operations
from ..passes.streaming import SMALLEST

SIMD: Final = "#pragma omp simd"
_SHORT: Final = 16  # bytes of a register


def lanes_of(scope: Scope, nest: Nest) -> int:
    """Return the points of a strip: as many as its registers hold of the smallest elements.

    Where registers are short, a strip is a cache line.
    """
    touched = [scope.by_name[row.buffer] for row in nest.body if isinstance(row, Load | Store)]
    inner = nest.loops[-1].range.dim
    sizes = [max(SMALLEST, ITEMSIZES[each.dtype]) for each in touched if inner in each.dims]
    width = scope.options.vector_bytes if scope.options.vector_bytes > _SHORT else LINE
    return max(1, registers_of(nest.body) * width // min(sizes, default=8))


def registers_of(rows: Iterable[Instruction]) -> int:
    """Return how many registers a strip has: two where rows have functions.

    These are long chains of operations; with a second register, the two chains overlap.
    """
    computed = (row for row in rows if isinstance(row, Compute))
    return 1 + any(operations(row.op) >= TRANSCENDENTAL for row in computed)
