"""Loop IR: the loop nests, memory and order of a program, scheduled for one target.

    kernel      ::= buffers, nests in order, tilings, arena slots, notes
    buffer      ::= field parameter | neighbour table | arena array over a box, in a slot
                  | tile array: one for each thread, as large as a tile | array in shared memory
    tiling      ::= consecutive nests that run tile by tile, the tiles shared among threads
    nest        ::= loops outer to inner, parts of the innermost, states, body, what is read,
                    the box whose emptiness skips it
    loop        ::= (parallel | sequential | vector | thread) dim: start .. stop, maybe backward
    instruction ::= Load(buffer[offsets]) | Constant | Argument | Compute(op, row...)
                  | Index(dim) | Number(bound) | State(k) | Store(buffer, row) | Advance(k, row)

A body is a flat table; a reference is the row of an earlier instruction. `level` is the number of
loops around an instruction; loop invariants stand outside the inner loops. The innermost loop may
consist of several parts in sequence; an instruction inside it belongs to one `part`. The states of
a scan are set before the innermost loop and advance at the end of each iteration. Every decision
carries its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ...runtime.language.dimension import Dimension
from .bounds import (
    Bound,
    Const,
    PatchBound,
    PatchOrder,
    Range,
    Ranges,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
)

Row: TypeAlias = int
NOTHING: Final = Const(0)
ALWAYS: Final = Const(1)
LINE: Final = 64
PITCH: Final = 16


@attrs.frozen
class Buffer:
    """Memory that nests read and write; tables are read-only.

    `unit` is the dimension whose stride is one element. An arena array has the index range `box`
    and the memory order `order` (outer to inner). So does a tile array; its indices along the
    dimensions of its tiling count from the start of the tile. Of the dimension `ring` it keeps the
    last indices: index i lies at i modulo the extent of the box, a power of two. A shared array is
    never in memory, only in shared memory of a GPU.
    """

    name: str
    memory: OneOf["field", "table", "arena", "tile", "shared"]
    dtype: str
    dims: tuple[Dimension, ...]
    unit: Dimension | None = None
    box: Ranges = ()
    order: tuple[Dimension, ...] = ()
    slot: int = -1
    reason: str = ""
    ring: Dimension | None = None


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


@attrs.frozen(kw_only=True)
class Instruction:
    """A row of a body; `level` counts the loops around it, `part` the parts of the innermost."""

    dtype: str
    level: int = 0
    part: int = 0

    @property
    def operands(self) -> tuple[Row, ...]:
        """The rows that this one is made from."""
        return ()


@attrs.frozen(kw_only=True)
class Load(Instruction):
    """Read a buffer of dimensions `dims` at the current indices plus `offsets`.

    If `rows` names an instruction for an axis, its value replaces the current index. On an axis
    without a loop the offset is the index. If `when` is false, the load reads nothing and its value
    is 0.
    """

    buffer: str
    dims: tuple[Dimension, ...]
    offsets: tuple[int, ...]
    rows: tuple[Row | None, ...] = ()
    when: Row | None = None

    @property
    def operands(self) -> tuple[Row, ...]:
        """The indices and the condition."""
        named = tuple(row for row in self.rows if row is not None)
        return named if self.when is None else (*named, self.when)


@attrs.frozen(kw_only=True)
class Constant(Instruction):
    """A number in its canonical spelling."""

    text: str


@attrs.frozen(kw_only=True)
class Argument(Instruction):
    """A scalar parameter."""

    name: str


@attrs.frozen(kw_only=True)
class Compute(Instruction):
    """An operation of the dataflow IR; `cast` converts to the dtype of the row."""

    op: str
    args: tuple[Row, ...]

    @property
    def operands(self) -> tuple[Row, ...]:
        """The arguments."""
        return self.args


@attrs.frozen(kw_only=True)
class Index(Instruction):
    """The current index along a dimension."""

    dim: Dimension


@attrs.frozen(kw_only=True)
class Number(Instruction):
    """The value of a bound, known at the call."""

    bound: Bound


@attrs.frozen(kw_only=True)
class State(Instruction):
    """A state of the scan after the previous level."""

    index: int


@attrs.frozen(kw_only=True)
class Advance(Instruction):
    """Update a state at the end of the level."""

    index: int
    value: Row

    @property
    def operands(self) -> tuple[Row, ...]:
        """The next value."""
        return (self.value,)


@attrs.frozen(kw_only=True)
class Store(Instruction):
    """Write a row to a buffer at the current indices plus `offsets`; empty offsets are all 0."""

    buffer: str
    value: Row
    offsets: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[Row, ...]:
        """The stored row."""
        return (self.value,)


@attrs.frozen
class Reading:
    """The box in which a nest reads a buffer; it reads nothing if the box is empty.

    `moved` tells that the nest clamps indices to the buffer, so that the box only requires one
    index along the clamped dimensions.
    """

    buffer: str
    box: Ranges
    moved: bool = False


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


@attrs.frozen
class Cut:
    """A range cut into tiles of at most `size` indices, of nearly equal sizes if `even`."""

    range: Range
    size: int
    even: bool = False


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
    def fits(self) -> Bound:
        """1 in calls whose arrays fit, 0 in others."""
        return minimum(floor_divide(Const(self.most), maximum(self.needed, Const(1))), Const(1))


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
    """The nests `members` of `first:stop` as one kernel of a GPU: a block has a patch of a mesh.

    Its `loops` run in order, with a barrier before each that reads what was filled since the last.

    An inspector makes the lists of each patch from tables (`order`): the elements of each nest, and
    where it finds what another filled. A block has `threads` threads, of which `blocks` run on a
    multiprocessor, and `levels` levels; each thread has `points` of them at a time. The
    `arrays` that only these nests touch are in shared memory. In calls without lists the nests run
    one by one; so they do where the call has less than half of the elements of the tables.
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
    def patches(self) -> Bound:
        """How many patches there are."""
        return PatchBound("patches", self.order)

    @property
    def fits(self) -> Bound:
        """1 in calls with lists that have enough elements, 0 in others."""
        all_ = maximum(multiply(self.patches, self.order.size), Const(1))
        enough = floor_divide(multiply(maximum(self.extent, Const(0)), 2), all_)
        return multiply(minimum(enough, Const(1)), minimum(self.patches, Const(1)))


@attrs.frozen
class Portions:
    """The nests `members` of `first:stop` in portions of patches of a mesh, shared by CPU threads.

    A thread computes a portion of the elements of a patch, one nest after another, and then the
    next portion. Lists of an inspector (`order`) name the elements of each nest and the rows of the
    `arrays`: a thread has a few rows in slot `slot`, and uses them again after the last reading.
    A member prefetches the rows of the loads `asked`. In calls without lists the nests run one by
    one. So they do where the arrays have less than
    `least` bytes, `bytes` for a point of the last nest, where the rows need more than `most` bytes,
    and where the call has less than half of the elements of the tables. At most `cores` threads
    have rows, and together no more than `memory`, the bytes of the largest array.
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
    def patches(self) -> Bound:
        """How many patches there are."""
        return PatchBound("patches", self.order)

    @property
    def pitch(self) -> Bound:
        """The elements from row to row: whole cache lines of 4 bytes or more each."""
        count = floor_divide(add(maximum(self.levels, Const(0)), PITCH - 1), Const(PITCH))
        return multiply(count, PITCH)

    @property
    def room(self) -> Bound:
        """The bytes of the rows of a thread, and a line so that no two threads share one."""
        bytes_ = multiply(PatchBound("shared", self.order), self.pitch)
        return multiply(floor_divide(add(bytes_, 2 * LINE - 1), Const(LINE)), LINE)

    @property
    def threads(self) -> Bound:
        """How many threads have rows."""
        return minimum(floor_divide(self.memory, maximum(self.room, Const(1))), Const(self.cores))

    @property
    def fits(self) -> Bound:
        """1 in calls that run in portions, 0 in others."""
        one = Const(1)
        elements = maximum(self.extent, Const(0))
        all_ = maximum(multiply(self.patches, PatchBound("size", self.order)), one)
        whole = floor_divide(multiply(elements, 2), all_)
        filled = multiply(elements, maximum(self.levels, Const(0)))
        large = floor_divide(multiply(filled, self.bytes), Const(max(self.least, 1)))
        near = floor_divide(Const(self.most), maximum(self.room, one))
        made = minimum(self.patches, one)
        for each in (whole, large, near, self.threads):
            made = multiply(made, minimum(each, one))
        return made


@attrs.frozen
class Kernel:
    """A scheduled program; `slots` are the sizes in bytes of the slots of the arena.

    `threads` is the largest number of threads on a tiling; `tilings` are in order and disjoint.
    `together` are scans that are one kernel, `instead` nests in place of others, `patches` nests
    that are one kernel for each patch of a mesh, in order and disjoint too, `portions` those that
    threads of a CPU run in portions of patches. `members` are the statements of the program to
    which the statements of nests, each with one box, belong.
    """

    name: str
    scalars: tuple[tuple[str, str], ...]
    buffers: tuple[Buffer, ...]
    nests: tuple[Nest, ...]
    slots: tuple[Bound, ...] = ()
    workspace: Bound = NOTHING
    notes: tuple[str, ...] = ()
    tilings: tuple[Tiling, ...] = ()
    threads: int = 1
    together: tuple[Together, ...] = ()
    instead: tuple[Instead, ...] = ()
    patches: tuple[Patches, ...] = ()
    portions: tuple[Portions, ...] = ()
    members: tuple[int, ...] = ()

    def statement_of(self, nest: Nest) -> int:
        """Return the statement of the program that a nest belongs to."""
        return self.members[nest.statement]

    def buffer(self, name: str) -> Buffer:
        """Return the buffer of that name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def steps(self) -> Iterator[tuple[Nest, ...]]:
        """Yield the steps of a kernel, each complete before the next starts: a nest or a tiling."""
        ends = {tiling.first: tiling.stop for tiling in self.tilings}
        index = 0
        while index < len(self.nests):
            stop = ends.get(index, index + 1)
            yield self.nests[index:stop]
            index = stop
