"""What only the loop IR of a GPU has: marks of nests, columns of scans, and patches of a mesh."""

from __future__ import annotations

from functools import partial
from typing import Final, TypeAlias

import attrs

from ..bounds import (
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
from .kernel import Node
from .nest import InPatches, Marks, Nest, marked_as, marks_as


@attrs.frozen
class GpuMarks(Marks):
    """How a GPU runs a nest.

    `block` is how many threads a block has along each `thread` loop, inner to outer; one number for
    several loops counts their points in one row. `points` is how many points a thread has along
    each of these loops, 1 where it ends early; `unaligned` tells that these points have a version
    with single accesses for memory that is not aligned. Threads leave registers for `blocks` blocks
    on a multiprocessor. With `reciprocals`, several quotients by one number are products with its
    reciprocal. A scan loads the rows `asked` to registers `ahead` levels before their use.
    """

    block: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    blocks: int = 1
    unaligned: bool = False
    reciprocals: bool = False


marks_of: Final = partial(marks_as, GpuMarks)
marked: Final = partial(marked_as, GpuMarks)


@attrs.frozen
class Landed:
    """Levels of `buffer`, `offsets` away from each column, that a scan copies to shared memory.

    They land in the room that array `room` has for the same levels until the scan stores there; in
    a room of their own if `room` is empty. If it is the buffer itself, they stay for later scans.
    """

    buffer: str
    offsets: tuple[int, ...]
    dtype: str
    room: str = ""


@attrs.frozen
class Landing:
    """What the first scan gets by asynchronous copies, `rounds` rounds of `ahead` levels early."""

    rounds: int
    ahead: int
    landed: tuple[Landed, ...]


@attrs.frozen
class ColumnTile:
    """Levels of some columns in shared memory of a GPU, a row for each column.

    Before the scans it is filled from buffer `source`, `offsets` away from each column, with the
    levels `filled`; empty if nothing is read. `holds` are what the scans store in it: arrays, and
    fields, whose levels `written` go to memory after the scans.
    """

    dtype: str
    source: str = ""
    offsets: tuple[int, ...] = ()
    filled: Range | None = None
    holds: tuple[str, ...] = ()
    written: tuple[tuple[str, Range], ...] = ()


@attrs.frozen
class Rows:
    """Where levels have unit stride: all threads of a block copy rows of `columns` columns.

    A thread walks one of them. Rows have `pitch` elements, of the levels from `first_level` on.
    """

    columns: int
    first_level: Bound
    pitch: Bound
    tiles: tuple[ColumnTile, ...]


@attrs.frozen
class Long:
    """Columns that do not fit: shared memory has room for `levels` levels of each.

    Of the first scan the levels `outside`, the first `rest`, go to arrays in memory, and later
    scans read them there.
    """

    levels: Bound
    rest: Bound
    outside: Range


Load: TypeAlias = Landing | Rows | Long


@attrs.frozen
class Columns(Node):
    """Scans over the same columns, which one kernel runs one after another.

    A thread has a column, a block `threads` of them and `needed` bytes of shared memory for the
    `arrays` that only these nests touch, at most `most`. Threads leave registers for `blocks`
    blocks on a multiprocessor. With `keeps`, several of the scans read one buffer: caches keep it
    and not what is used once.
    """

    arrays: tuple[str, ...]
    threads: int
    needed: Bound
    most: int
    scans: tuple[Nest, ...]
    load: Load | None = None
    blocks: int = 1
    keeps: bool = False

    @property
    def fits(self) -> Bound:
        """1 in calls whose arrays fit, 0 in others."""
        return minimum(floor_divide(Const(self.most), maximum(self.needed, Const(1))), Const(1))


@attrs.frozen
class Patches(InPatches):
    """Nests as one kernel, each block of which computes a patch of a mesh.

    The arrays are in shared memory. It runs in calls that have lists and enough elements.

    Attributes:
        levels: levels of a block.
        points: levels of a thread.
        threads: threads of a block.
        blocks: blocks that run on a multiprocessor at a time.
        body: `Each` nest in order, in `Seq` and `Choice`.

    """

    levels: int
    points: int
    threads: int
    blocks: int
    body: Node

    @property
    def fits(self) -> Bound:
        """1 in calls with lists that have enough elements, 0 in others."""
        return self.has_enough(self.order.size)

    def parts(self, levels: Range) -> Bound:
        """Return how many blocks the levels of a patch take."""
        first = multiply(floor_divide(levels.start, Const(self.points)), self.points)
        rounded = add(subtract(levels.stop, first), self.levels - 1)
        return maximum(floor_divide(rounded, Const(self.levels)), Const(0))
