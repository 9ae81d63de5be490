"""Loop IR: where and when values are computed, scheduled for one target.

    kernel      ::= buffers, nests in order, tilings, arena slots, notes
    buffer      ::= field parameter | neighbour table | arena array over a box, in a slot
                  | tile array: one for each thread, as large as a tile
    tiling      ::= consecutive nests that run tile by tile, the tiles shared among threads
    nest        ::= loops outer to inner, parts of the innermost, states, body, what is read,
                    the box whose emptiness skips it
    loop        ::= (parallel | sequential | vector) dim: start .. stop, maybe backward
    instruction ::= Load(buffer[offsets]) | Constant | Argument | Compute(op, row...)
                  | Index(dim) | Number(bound) | State(k) | Store(buffer, row) | Advance(k, row)

A body is a flat table; a reference is the row of an earlier instruction. `level` is
the number of loops around an instruction: what does not change with the inner loops
stands outside them. The innermost loop may be cut into parts that follow one another;
an instruction inside it belongs to one `part`. The states of a scan are set before the
innermost loop and advance at the end of each of its steps. Every decision carries its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ...runtime.language.dimension import Dimension
from .bounds import Bound, Const, Range, Ranges

Row: TypeAlias = int
NOTHING: Final = Const(0)


@attrs.frozen
class Buffer:
    """Memory that nests read and write; a table is only read.

    `unit` is the dimension whose stride is one element. An arena array has the
    index range `box`, its dimensions lie in memory as `order` says (outer to inner). So has a tile
    array, along the dimensions of its tiling counted from where the tile begins.
    """

    name: str
    memory: OneOf["field", "table", "arena", "tile"]
    dtype: str
    dims: tuple[Dimension, ...]
    unit: Dimension | None = None
    box: Ranges = ()
    order: tuple[Dimension, ...] = ()
    slot: int = -1
    reason: str = ""


@attrs.frozen
class Loop:
    """Walk one dimension; `parallel` loops that follow one another are one loop for threads.

    A `vector` loop that stands alone is shared by threads, too. A loop with a `margin` walks the
    part of its range that is in the tile, or at most so far before its start and beyond its end.
    With a `step` the body works for so many indices.
    """

    kind: OneOf["parallel", "sequential", "vector"]
    range: Range
    backward: bool = False
    margin: tuple[int, int] | None = None
    step: int = 1


@attrs.frozen(kw_only=True)
class Instruction:
    """A row of a body; `level` counts the loops around it, `part` is for those inside all."""

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

    Where `rows` names an instruction for an axis, its value takes the place of the current index.
    An axis that no loop walks is read at its offset. Where `when` is false nothing is read and
    the value is 0.
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
    """One of dataflow's operations; `cast` converts to the row's own dtype."""

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
    """A bound, known at the call."""

    bound: Bound


@attrs.frozen(kw_only=True)
class State(Instruction):
    """A state of the scan as the last level left it."""

    index: int


@attrs.frozen(kw_only=True)
class Advance(Instruction):
    """Give a state its next value, when all else of the level is done."""

    index: int
    value: Row

    @property
    def operands(self) -> tuple[Row, ...]:
        """The next value."""
        return (self.value,)


@attrs.frozen(kw_only=True)
class Store(Instruction):
    """Write a row to a buffer at the current indices plus `offsets`, none where they are empty."""

    buffer: str
    value: Row
    offsets: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[Row, ...]:
        """The row that is written."""
        return (self.value,)


@attrs.frozen
class Reading:
    """The indices at which a nest reads a buffer; none where the box is empty.

    `moved` says that indices outside the buffer are moved to the nearest inside, so that
    all the box asks for, along dimensions where that happens, is one index.
    """

    buffer: str
    box: Ranges
    moved: bool = False


@attrs.frozen
class Nest:
    """Loops around a body; `statement` is the group of stores that it works for.

    Nothing of it runs, and nothing is read, where `guard` is empty. `states` are the dtype and the
    first value of each state of a scan. `streams` are the fields that are written past the caches
    where a call writes more than they hold. The rows of the loads `asked` are asked for when the
    loop around the innermost one has `ahead` steps to go before it reads them. Innermost loops are
    written a second time for where each of the conditions `usual` has the value given.
    """

    statement: int
    loops: tuple[Loop, ...]
    body: tuple[Instruction, ...]
    guard: Ranges
    reason: str
    reads: tuple[Reading, ...] = ()
    parts: tuple[Range, ...] = ()
    states: tuple[tuple[str, Row], ...] = ()
    streams: tuple[str, ...] = ()
    ahead: int = 0
    asked: tuple[Row, ...] = ()
    usual: tuple[tuple[Row, bool], ...] = ()

    @property
    def box(self) -> Ranges:
        """The ranges of the loops."""
        return tuple(loop.range for loop in self.loops)


@attrs.frozen
class Cut:
    """A range that is cut into tiles of at most `size`, of nearly one size where `even`."""

    range: Range
    size: int
    even: bool = False


@attrs.frozen
class Tiling:
    """The nests `first:stop` run one after another on each tile; threads share the tiles.

    Along `rolled`, if given, they take turns row by row: each is ahead of the last one by as much
    as its margin reaches beyond the tile, so that rows are read soon after they were written.
    """

    first: int
    stop: int
    cuts: tuple[Cut, ...]
    reason: str
    rolled: Dimension | None = None

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions that are cut, outer to inner."""
        return tuple(cut.range.dim for cut in self.cuts)


@attrs.frozen
class Kernel:
    """A scheduled program; `slots` are the sizes in bytes of the pieces of the arena.

    `threads` is how many may share a tiling; `tilings` are in order and do not overlap.
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

    def buffer(self, name: str) -> Buffer:
        """Return the buffer of that name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def steps(self) -> Iterator[tuple[Nest, ...]]:
        """Yield what is complete before the next begins: a nest, or all nests of a tiling."""
        ends = {tiling.first: tiling.stop for tiling in self.tilings}
        index = 0
        while index < len(self.nests):
            stop = ends.get(index, index + 1)
            yield self.nests[index:stop]
            index = stop
