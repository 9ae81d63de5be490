"""What only the loop IR of a CPU has: marks of nests, tiles, and portions of patches of a mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import ClassVar, Final

from ....runtime.language import Dimension
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
)
from ..inside import bounds_of
from .buffers import ITEMSIZES, Buffer
from .group import Member, NestGroup, PatchGroup
from .kernel import Kernel, Node
from .nest import Each, Load, Marks, Nest, Row, Store, marked_as, marks_as
from .traverse import arrays_of, with_nests

LINE: Final = 64  # bytes
PITCH: Final = 16
MOST_IN_TURN: Final = 4  # rows
FEWEST_ROWS: Final = 8  # of a tile, if threads are to share them
FEWEST_OF_COLUMNS: Final = 2  # the same, where rows have many levels
FIRST_CACHE: Final = 32 << 10  # bytes
SECOND_CACHE: Final = 1 << 20  # where a call does not know it
EIGHTHS: Final = 5  # of the second cache that rows of columns in turn may fill


@classes.frozen
class CpuMarks(Marks):
    """How a CPU runs a nest.

    With `march`, the two outer loops walk blocks of rows of about so many points, all planes of a
    block before the next block. `streams` are the fields written by non-temporal stores if a call
    writes more than the caches hold. The nest prefetches the rows of the loads `asked`, and the
    ends of those that it streams, `ahead` iterations of the loop around the innermost one before it
    needs them; none if `ahead` is 0. Unswitching: the writer emits a second version of the
    innermost loops for the case that each condition in `usual` has the given value. `slides` are
    rows that have the value which another row had some points before (row, other row, points):
    whole strips take them from registers.
    """

    platform: ClassVar[str] = "cpu"

    march: int = 0
    streams: tuple[str, ...] = ()
    usual: tuple[tuple[Row, bool], ...] = ()
    slides: tuple[tuple[Row, Row, int], ...] = ()


marks_of: Final = partial(marks_as, CpuMarks)
marked: Final = partial(marked_as, CpuMarks)


def with_rows(kernel: Kernel, change: Callable[[Nest], Nest]) -> Kernel:
    """Return a kernel with each nest changed that walks rows: a `vector` loop inside of others."""
    return with_nests(
        kernel,
        lambda nest: (
            change(nest) if len(nest.loops) > 1 and nest.loops[-1].kind == "vector" else nest
        ),
    )


@classes.frozen
class Cut:
    """A range cut into tiles of at most `size` indices, of nearly equal sizes if `even`."""

    range: Range
    size: int
    even: bool = False


@classes.frozen
class Tiles(NestGroup):
    """Nests that run in order on each tile; at most `threads` threads share the tiles.

    Each thread has its own `arrays`, as large as a tile. Along `rolled`, if given, the nests
    alternate row by row, or a few rows at a time where these are short: each nest leads the last
    one by its margin beyond the tile, so that later nests read rows from the cache.
    """

    platform: ClassVar[str] = "cpu"
    holder: ClassVar[type[Node]] = Member

    cuts: tuple[Cut, ...]
    members: tuple[Member, ...]
    reason: str
    rolled: Dimension | None = None
    threads: int = 1

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Where the cut ranges begin and end."""
        return tuple(bounds_of(self.cuts))

    @property
    def copies(self) -> int:
        """How many threads have arrays of their own."""
        return self.threads

    @property
    def alternates(self) -> bool:
        """Whether the first nest still fills arrays when the last one reads them."""
        return self.rolled is not None

    @property
    def rolled_margins(self) -> list[tuple[int, int]]:
        """The margins of each member along `rolled`; it leads by what lies beyond the tile."""
        level = next(n for n, cut in enumerate(self.cuts) if cut.range.dim is self.rolled)
        return [member.margins[level] for member in self.members]

    def rows_in_use(self, name: str) -> int:
        """Count the rows of a buffer from the last one that any nest touches to the newest one.

        While row r has its turn, a nest works on the row r + its margin beyond the tile.
        """
        touched = [
            lead + offset
            for member, (_, lead) in zip(self.members, self.rolled_margins, strict=True)
            for row in member.nest.body
            if isinstance(row, Load | Store) and row.buffer == name
            for offset in (
                [at for dim, _, at in row.places if dim is self.rolled]
                if isinstance(row, Load)
                else [0]
            )
        ]
        return 1 + max(touched) - min(touched)

    def bytes_in_turn(self, buffers: Iterable[Buffer]) -> tuple[int, int]:
        """Return the bytes of a point in the rows that nests hold, and those of each row more.

        Nests alternate row by row, or with more rows at a time. What lacks a dimension is small.
        """
        used, box = arrays_of(self), self.members[-1].nest.box
        held = [
            (ITEMSIZES[each.dtype], each)
            for each in buffers
            if each.name in used and {range_.dim for range_ in box} <= set(each.dims)
        ]
        first = sum(size * self.rows_in_use(each.name) for size, each in held)
        return first, sum(size * (1 + (each.ring is not None)) for size, each in held)

    def rows_in_turn(self, buffers: Iterable[Buffer], points: float) -> int:
        """Return how many rows of so many points nests walk at a time."""
        first, more = self.bytes_in_turn(buffers)
        room = SECOND_CACHE // 8 * EIGHTHS if self.has_columns else FIRST_CACHE
        fitting = (n for n in (MOST_IN_TURN, 2) if points * (first + (n - 1) * more) <= room)
        return next(fitting, 1)

    @property
    def has_columns(self) -> bool:
        """Whether nests walk more than the innermost dimension inside of tiles."""
        return len(self.members[-1].nest.box) > len(self.cuts) + 1

    @property
    def fewest(self) -> int:
        """How many rows along `rolled` a tile has at least, if threads are to share them."""
        return FEWEST_OF_COLUMNS if self.has_columns else FEWEST_ROWS

    def problems(self) -> Iterator[tuple[Node, str]]:
        """Yield the nests that cannot run tile by tile."""
        dims = [cut.range.dim for cut in self.cuts]
        for member in self.members:
            own = [loop.range.dim for loop in member.nest.loops]
            if any(own.count(dim) != 1 for dim in dims) or len(member.margins) != len(dims):
                yield member.nest, "does not walk each cut once"
            if any(loop.kind == "parallel" for loop in member.nest.loops):
                yield member.nest, "shares loops inside of tiles"


@classes.frozen
class Portions(PatchGroup):
    """Nests in portions of patches of a mesh, which the threads of a CPU share.

    A thread computes one portion of a patch after another, and in each portion all nests. It has a
    few rows of the arrays, which hold what nests hand on; a row serves another element after the
    last portion that reads it. It runs in calls that have lists, enough elements, and large arrays,
    in which the rows of a thread fit.

    Attributes:
        levels: how many levels it has.
        bytes: bytes of all arrays for a point of the last nest.
        least: arrays of fewer bytes stay in caches.
        most: the most bytes that the rows of a thread may take.
        memory: bytes of the largest array, the most that the rows of all threads take.
        cores: the most threads.
        loops: the nests in order.

    """

    platform: ClassVar[str] = "cpu"

    levels: Bound
    bytes: int
    least: int
    most: int
    memory: Bound
    cores: int
    loops: tuple[Each, ...]

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Where the lists lie, and how many rows and threads there are."""
        return (
            PatchBound("address", self.order),
            self.patches,
            self.room,
            self.pitch,
            self.fits,
            self.threads,
        )

    @property
    def workspace(self) -> Bound:
        """The bytes of the rows of all threads, in calls that have them."""
        return multiply(self.room, multiply(self.fits, self.threads))

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
        elements, levels = maximum(self.extent, Const(0)), maximum(self.levels, Const(0))
        filled = multiply(multiply(elements, levels), self.bytes)
        large = floor_divide(filled, Const(max(self.least, 1)))
        near = floor_divide(Const(self.most), maximum(self.room, Const(1)))
        made = self.has_enough(PatchBound("size", self.order))
        for each in (large, near, self.threads):
            made = multiply(made, minimum(each, Const(1)))
        return made
