"""Groups of nests of the loop IR that run together: tiles, scans in columns, patches of a mesh."""

from __future__ import annotations

from typing import Literal as OneOf

import attrs

from ...runtime.language.dimension import Dimension
from .bounds import Bound, PatchOrder, Range
from .loops import cpu, gpu
from .loops.cpu import Cut
from .loops.gpu import ColumnTile, Landed
from .loops.kernel import Seq
from .nests import ALWAYS, NOTHING, Load, Nest, Row, Store

__all__ = [
    "Blocked",
    "ColumnTile",
    "Cut",
    "Instead",
    "Landed",
    "PatchLoop",
    "Patches",
    "Portions",
    "Tiling",
    "Together",
]


@attrs.frozen
class Tiling:
    """The nests `first:stop` run in order on each tile; threads share the tiles.

    Along `rolled`, if given, the nests alternate row by row: each nest leads the last one by its
    margin beyond the tile, so that later nests read rows from the cache.
    """

    first: int
    stop: int
    cuts: tuple[Cut, ...]
    reason: str
    rolled: Dimension | None = None

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The tiled dimensions, outer to inner."""
        return tuple(cut.range.dim for cut in self.cuts)


@attrs.frozen
class Blocked:
    """The kernel of some scans for long columns; a thread has a column, a block `threads` of them.

    Shared memory has room for `levels` levels of a column, in `needed` bytes. Of the first scan the
    levels `outside`, the first `rest`, go to arrays in memory, and later scans read them there.
    """

    threads: int
    levels: Bound
    rest: Bound
    outside: Range
    needed: Bound
    most: int

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Everything that its kernel takes from the call."""
        return (self.levels, self.rest, self.outside.start, self.outside.stop, self.needed)


@attrs.frozen
class Together:
    """Scans `first:stop` over the same columns, which one kernel of a GPU runs one after another.

    A thread has a column, a block `threads` of them. The `arrays` that only these nests touch are
    in shared memory if they need at most `most` bytes of it; `needed` says how many for a block. In
    calls with longer columns each scan is a kernel of its own, and the arrays are in the arena.

    If the scans are `blocked`, that kernel runs in these calls. What has `landed` comes to the
    first scan by asynchronous copies, `rounds` rounds of `ahead` levels before it is used.

    Where levels have unit stride there are `tiles`, with levels from `first_level` on in rows of
    `pitch` elements: all threads of a block copy `columns` columns, each of which one thread walks.
    Threads leave registers for `blocks` blocks on a multiprocessor. With `keeps`, several of the
    scans read one buffer: caches keep it and not what is used once.
    """

    first: int
    stop: int
    arrays: tuple[str, ...]
    threads: int
    needed: Bound
    most: int
    reason: str
    tiles: tuple[ColumnTile, ...] = ()
    columns: int = 0
    first_level: Bound = NOTHING
    pitch: Bound = NOTHING
    blocks: int = 1
    keeps: bool = False
    blocked: Blocked | None = None
    landed: tuple[Landed, ...] = ()
    ahead: int = 0
    rounds: int = 0

    @property
    def lanes(self) -> int:
        """The threads that copy one row of a tile."""
        return max(1, self.threads // self.columns)

    @property
    def node(self) -> gpu.Columns:
        """The columns of the tree, without their scans and what these load."""
        return gpu.Columns(
            self.arrays, self.threads, self.needed, self.most, (), None, self.blocks, self.keeps
        )


@attrs.frozen
class Instead:
    """Nest `nest` does on a GPU what the nests from `first` up to it do, where `when` is 1.

    In other calls `when` is 0 and those nests run.
    """

    first: int
    nest: int
    when: Bound
    reason: str


@attrs.frozen
class PatchLoop:
    """A loop of `Patches` over what list `elements` names: `nest` says what is done for each.

    If a nest fills arrays, and one loop does `both` that and more for the elements of list
    `others` where `joint` is 1, the `rest` of the list has a loop of its own. Where `joint` is 0
    the rest are all, and the loop `apart` does what is left to do for the others.
    """

    nest: Nest
    elements: int
    part: OneOf["all", "both", "rest", "apart"] = "all"
    joint: Bound = ALWAYS
    others: int = -1


@attrs.frozen
class Patches:
    """Nests as one kernel of a GPU, each block of which computes a patch of a mesh.

    An inspector makes lists for each patch from the tables of a call: the elements of each nest,
    and where it finds what another nest filled. In calls without lists the nests run one by one,
    and also where a call has less than half of the elements of the tables.

    Attributes:
        first, stop: the nests of the kernel that the patches stand for.
        members: those of them that hand arrays on.
        arrays: arrays that only these nests touch, in shared memory.
        order: the orders to the inspector.
        levels: levels of a block.
        points: levels of a thread.
        threads: threads of a block.
        blocks: blocks that run on a multiprocessor at a time.
        extent: how many elements the last nest has in a call.
        reason: why the nests are one kernel, for the listing.
        loops: they run in order, with a barrier before each that reads an array filled since the
            last barrier.

    """

    first: int
    stop: int
    members: tuple[int, ...]
    arrays: tuple[str, ...]
    order: PatchOrder
    levels: int
    points: int
    threads: int
    blocks: int
    extent: Bound
    reason: str
    loops: tuple[PatchLoop, ...]

    @property
    def waits(self) -> tuple[bool, ...]:
        """Whether the threads of a block wait for each other before each loop."""
        new: set[str] = set()  # filled since the last barrier
        found = []
        for each in self.loops:
            found.append(any(isinstance(r, Load) and r.buffer in new for r in each.nest.body))
            new = set() if found[-1] else new
            new |= {r.buffer for r in each.nest.body if isinstance(r, Store)} & set(self.arrays)
        return tuple(found)

    @property
    def node(self) -> gpu.Patches:
        """The patches of the tree, without their loops."""
        return gpu.Patches(
            self.arrays, self.order, self.levels, self.points, self.threads, self.blocks,
            self.extent, Seq(),
        )  # fmt: skip


@attrs.frozen
class Portions:
    """Nests in portions of patches of a mesh, which the threads of a CPU share.

    A thread computes one portion of a patch after another, and in each portion all nests. Lists of
    an inspector name the elements of each nest, and the rows that hold what nests hand on; a row
    serves another element after the last portion that reads it. In calls without lists the nests
    run one by one, and also where a call has less than half of the elements of the tables, where
    its arrays are small, or where the rows of a thread are too large.

    Attributes:
        first, stop: the nests of the kernel that the portions stand for.
        members: those of them that hand arrays on.
        arrays: arrays that only these nests touch; each thread has a few rows of them.
        asked: by member the loads whose rows it prefetches.
        order: the orders to the inspector.
        extent: how many elements the last nest has in a call.
        levels: how many levels it has.
        bytes: bytes of all arrays for a point of the last nest.
        least: arrays of fewer bytes stay in caches; the nests run one by one.
        most: the most bytes that the rows of a thread may take.
        memory: bytes of the largest array, the most that the rows of all threads take.
        cores: the most threads.
        reason: why the nests run together, for the listing.
        slot: where in the workspace the rows lie; -1 before that is decided.

    """

    first: int
    stop: int
    members: tuple[int, ...]
    arrays: tuple[str, ...]
    asked: tuple[tuple[Row, ...], ...]
    order: PatchOrder
    extent: Bound
    levels: Bound
    bytes: int
    least: int
    most: int
    memory: Bound
    cores: int
    reason: str
    slot: int = -1

    @property
    def node(self) -> cpu.Portions:
        """The portions of the tree, without their loops."""
        return cpu.Portions(
            self.arrays, self.order, self.extent, self.levels, self.bytes, self.least, self.most,
            self.memory, self.cores, (), self.slot,
        )  # fmt: skip
