"""Loop nests of the loop IR: loops, and a body of instructions.

A body is a flat table; a reference is the row of an earlier instruction. `level` is the number of
loops around an instruction; loop invariants stand outside the inner loops. The innermost loop may
consist of several parts in sequence; an instruction inside it belongs to one `part`. The states of
a scan are set before the innermost loop and advance at the end of each iteration. Every decision
carries its reason.
"""

from __future__ import annotations

from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from .bounds import Const, Range, Ranges
from .loops import nest as of_trees
from .loops.nest import (
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Number,
    Reading,
    Row,
    State,
    Store,
)

__all__ = [
    "ALWAYS",
    "NOTHING",
    "Advance",
    "AnyNest",
    "Argument",
    "Compute",
    "Constant",
    "Index",
    "Instruction",
    "Load",
    "Loop",
    "Nest",
    "Number",
    "Reading",
    "Row",
    "State",
    "Store",
]

NOTHING: Final = Const(0)
ALWAYS: Final = Const(1)


@attrs.frozen
class Loop:
    """A loop over one dimension; threads share adjacent `parallel` loops as one collapsed loop.

    Threads also share a `vector` loop without other loops around it. On a GPU, each iteration of
    the `thread` loops together is a thread of its own. A loop with a `margin` runs
    over the part of its range inside the tile, extended by the margin before its start and beyond
    its end. With a `step` an iteration works on that many indices.
    """

    kind: OneOf["parallel", "sequential", "vector", "thread"]
    range: Range
    backward: bool = False
    margin: tuple[int, int] | None = None
    step: int = 1


@attrs.frozen
class Nest:
    """A loop nest: loops around a body; `statement` is the statement that it belongs to.

    The nest runs, and reads, only if `guard` is not empty. `states` are the dtype and the initial
    value of each state of a scan. With `marching`, the two outer loops walk blocks of rows of about
    so many points, all planes of a block before the next block. `streams` are the fields written
    by non-temporal stores if a call writes more than the caches hold. The nest prefetches the rows
    of the loads `asked` `ahead` iterations of the loop around the innermost one before it reads
    them; on a GPU, those of a scan are loaded to registers `ahead` levels before their use.
    Unswitching: the writer emits a second version of the innermost loops for the case that each
    condition in `usual` has
    the given value. `slides` are rows that have the value which another row had some points before
    (row, other row, points): whole strips take them from registers. `block` is how many threads a
    block of a GPU has along each `thread` loop, inner to outer; one number for several loops counts
    their points in one row. `each` is how many points a thread has along each of these loops, 1
    where it ends early; `unaligned` tells that these points have a version with single accesses for
    memory that is not aligned. Where it `shares_reciprocals`, a GPU divides several numbers by one
    through its reciprocal. Threads leave registers for `blocks` blocks on a multiprocessor.
    """

    statement: int
    loops: tuple[Loop, ...]
    body: tuple[Instruction, ...]
    guard: Ranges
    reason: str
    reads: tuple[Reading, ...] = ()
    parts: tuple[Range, ...] = ()
    states: tuple[tuple[str, Row], ...] = ()
    marching: int = 0
    streams: tuple[str, ...] = ()
    ahead: int = 0
    asked: tuple[Row, ...] = ()
    usual: tuple[tuple[Row, bool], ...] = ()
    slides: tuple[tuple[Row, Row, int], ...] = ()
    block: tuple[int, ...] = ()
    each: tuple[int, ...] = ()
    shares_reciprocals: bool = False
    unaligned: bool = False
    blocks: int = 1

    @property
    def box(self) -> Ranges:
        """The ranges of the loops."""
        return tuple(loop.range for loop in self.loops)


AnyNest: TypeAlias = Nest | of_trees.Nest  # for what writers of lists and passes over trees share
