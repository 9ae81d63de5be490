"""Extrema of extrema: which compiler flags let GCC vectorise them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...ir.loops import Compute, Constant, Kernel, Nest
from .expressions import is_float

EXTREMA: Final = ("minimum", "maximum")
# GCC knows whether each operand of a maximum m is NaN, so it replaces the test 'm != m' by a choice
# between two conditions, which it cannot vectorise. That is a partial redundancy; without
# eliminating those, other loops (vertical sweeps, sums over neighbours) are slower.
WHOLE_TESTS: Final = ("-fno-tree-pre",)


def flags_for_extrema(kernel: Kernel) -> tuple[str, ...]:
    """Return the flags with which GCC vectorises the loops of a kernel that has nested extrema."""
    return WHOLE_TESTS if any(any(_nested(nest)) for nest in kernel.nests) else ()


def _nested(nest: Nest) -> Iterator[bool]:
    """Tell of each extremum whether its code tests if the result of a choice is NaN."""
    for row in nest.body:
        if isinstance(row, Compute) and row.op in EXTREMA and is_float(row.dtype):
            first, second = (nest.body[arg] for arg in row.args)
            chosen = isinstance(first, Compute) and first.op in (*EXTREMA, "select")
            yield chosen and not isinstance(second, Constant)
