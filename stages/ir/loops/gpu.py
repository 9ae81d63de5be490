"""What only the loop IR of a GPU has: marks of nests, columns of scans, and patches of a mesh."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Final, TypeAlias

from ....runtime.process import classes
from ..bounds import (
    Bound,
    Const,
    PatchBound,
    Range,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    subtract,
)
from ..inside import bounds_of
from .group import NestGroup, PatchGroup
from .kernel import Choice, Node
from .nest import Marks, Nest, marked_as, marks_as
from .traverse import nests_of, nodes_of


@classes.frozen
class GpuMarks(Marks):
    """How a GPU runs a nest.

    `block` is how many threads a block has along each `thread` loop, inner to outer; one number for
    several loops counts their points in one row. `points` is how many points a thread has along
    each of these loops, 1 where it ends early; `unaligned` tells that these points have a version
    with single accesses for memory that is not aligned; `masked` that a thread with points outside
    loads as others do and leaves out stores. Threads leave registers for `blocks` blocks
    on a multiprocessor. Threads at `usual` points have code without conditions. With `reciprocals`,
    quotients are products with reciprocals, in a scan those of several by one number. A scan loads
    the rows `asked` to registers `ahead` levels before their use.
    """

    platform: ClassVar[str] = "gpu"

    block: tuple[int, ...] = ()
    points: tuple[int, ...] = ()
    blocks: int = 1
    unaligned: bool = False
    masked: bool = False
    usual: bool = False
    reciprocals: bool = False


marks_of: Final = partial(marks_as, GpuMarks)
marked: Final = partial(marked_as, GpuMarks)


@classes.frozen
class Landed:
    """Levels of `buffer`, `offsets` away from each column, that a scan copies to shared memory.

    They land in the room that array `room` has for the same levels until the scan stores there; in
    a room of their own if `room` is empty. If it is the buffer itself, they stay for later scans.
    """

    buffer: str
    offsets: tuple[int, ...]
    dtype: str
    room: str = ""


@classes.frozen
class Landing:
    """What the first scan gets by asynchronous copies, `rounds` rounds of `ahead` levels early."""

    rounds: int
    ahead: int
    landed: tuple[Landed, ...]


@classes.frozen
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


@classes.frozen
class RowTiles:
    """Where levels have unit stride: all threads of a block copy rows of `columns` columns.

    A thread walks one of them. Rows have `pitch` elements, of the levels from `first_level` on.
    """

    columns: int
    first_level: Bound
    pitch: Bound
    tiles: tuple[ColumnTile, ...]


@classes.frozen
class Long:
    """Columns that do not fit: shared memory has room for `levels` levels of each.

    Of the first scan the levels `outside`, the first `rest`, go to arrays in memory, and later
    scans read them there.
    """

    levels: Bound
    rest: Bound
    outside: Range


ColumnLoad: TypeAlias = Landing | RowTiles | Long


@classes.frozen
class GroupLaunch:
    """The threads of a block along x, y and z, its bytes of shared memory, and their most.

    Without `blocks`, the loops of the first nest tell how many there are.
    """

    threads: tuple[int, ...]
    shared: Bound
    most: int
    blocks: Bound | None = None


@classes.frozen
class KernelGroup(NestGroup):
    """Nests that are one kernel of a GPU."""

    platform: ClassVar[str] = "gpu"

    @property
    def first(self) -> Nest:
        """The nest whose loops tell the index of a thread, and whose box tells whether it runs."""
        return nests_of(self)[0]

    @property
    def launch(self) -> GroupLaunch:
        """How many threads and blocks it has, and their shared memory."""
        raise NotImplementedError


@classes.frozen
class Columns(KernelGroup):
    """Scans over the same columns, which one kernel runs one after another.

    A thread has a column, a block `threads` of them and `needed` bytes of shared memory for the
    `arrays` that only these nests touch, at most `most`. Threads leave registers for `blocks`
    blocks on a multiprocessor. With `keeps`, several of the scans read one buffer: caches keep it
    and not what is used once.
    """

    walks_columns: ClassVar[bool] = True

    threads: int
    needed: Bound
    most: int
    scans: tuple[Nest, ...]
    load: ColumnLoad | None = None
    blocks: int = 1
    keeps: bool = False

    @property
    def columns(self) -> int:
        """The columns of a block."""
        return self.load.columns if isinstance(self.load, RowTiles) else self.threads

    @property
    def first(self) -> Nest:
        """The first scan, for the columns of a block."""
        return marked(self.scans[0], block=(self.columns,))

    @property
    def launch(self) -> GroupLaunch:
        """A block for some columns."""
        return GroupLaunch((self.threads,), self.needed, self.most)

    @property
    def outside(self) -> Range | None:
        """The levels of long columns that go to memory."""
        return self.load.outside if isinstance(self.load, Long) else None

    @property
    def is_clamped(self) -> bool:
        """Whether code that clamps indices has the group, too: rows have no room for others."""
        return not isinstance(self.load, RowTiles)

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The bytes of shared memory, and the levels of what is loaded to it."""
        levels = tuple(bounds_of(self.load))
        return (*levels, self.needed) if isinstance(self.load, Long) else (self.needed, *levels)

    def problems(self) -> Iterator[tuple[Node, str]]:
        """Yield that scans walk different columns."""
        if len({nest.loops[:-1] for nest in self.scans}) != 1:
            yield self, "has scans that do not walk the same columns"

    @property
    def fits(self) -> Bound:
        """1 in calls whose arrays fit, 0 in others."""
        return minimum(floor_divide(Const(self.most), maximum(self.needed, Const(1))), Const(1))


@classes.frozen
class Patches(PatchGroup, KernelGroup):
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
    def bounds(self) -> tuple[Bound, ...]:
        """Where the lists lie, the parts of a patch, and which of its loops are one."""
        whens = (choice.when for choice in nodes_of(self.body, Choice))
        return (PatchBound("address", self.order), self.parts, *whens)

    @property
    def launch(self) -> GroupLaunch:
        """A block for some levels of a patch."""
        shared, blocks = PatchBound("shared", self.order), multiply(self.patches, self.parts)
        return GroupLaunch((self.threads,), shared, self.order.most, blocks)

    @property
    def fits(self) -> Bound:
        """1 in calls with lists that have enough elements, 0 in others."""
        return self.has_enough(self.order.size)

    @property
    def parts(self) -> Bound:
        """How many blocks the levels of a patch take."""
        levels = self.first.box[-1]
        first = multiply(floor_divide(levels.start, Const(self.points)), self.points)
        rounded = add(subtract(levels.stop, first), self.levels - 1)
        return maximum(floor_divide(rounded, Const(self.levels)), Const(0))
