"""Encoded programs: loop nests as steps, each an instruction on a row of numbers.

A nest has *values*, single numbers that loops around its lanes know, and *blocks*, a number for
each lane of a strip. *Accesses* are rows of memory. Steps name these places: `v0`, `t0`, `a0`.
Integers of the call stand as a place and a constant, as in generated C++.
"""

from __future__ import annotations

from typing import Final, Literal as OneOf, TypeAlias

from ...runtime.process import classes

MOST_AXES: Final = 8

Count: TypeAlias = tuple[int, int]  # the place of an integer of the call (-1: none), a constant
Span: TypeAlias = tuple[Count, Count]  # start and stop
Place: TypeAlias = str  # of an access, a block or a value


@classes.frozen
class Buffer:
    """Memory that nests read and write.

    Attributes:
        name: for the text.
        memory: a field or table of the call, an array, or an array of a tile.
        dtype: of its elements.
        place: among the pointers of the call, or among the slots of the arena.
        strides: by axis the elements from index to index, of a field or table.
        box: by axis the indices, of an array.
        order: the axes of an array from the outermost to the innermost.
        cuts: by axis of an array the cut of `Tiles` with whose tiles it begins, or -1.
        ring: the axis of which the array keeps the last indices, or -1.

    """

    name: str
    memory: OneOf["field", "table", "arena", "tile"]
    dtype: str
    place: int
    strides: tuple[Count, ...] = ()
    box: tuple[Span, ...] = ()
    order: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()
    ring: int = -1


# What gives an index along an axis, its number, and an offset: the value of that number, the block
# for each lane, the block for each row, the lane itself, or nothing.
Axis: TypeAlias = tuple[OneOf["value", "block", "row", "lane", "fixed"], int, int]


@classes.frozen
class Access:
    """Elements of a buffer, one for each lane; `is_row` if they lie side by side.

    With `ahead` it is the row that the nest reads so many iterations of the loop around the lanes
    later: chains prefetch it. Nothing reads what a row of `streams` gets: non-temporal stores may
    write it.
    """

    buffer: int
    axes: tuple[Axis, ...]
    is_row: bool = False
    ahead: int = 0
    streams: bool = False


@classes.frozen
class Known:
    """A value that stays in a call: a constant, a scalar argument, an integer."""

    value: int
    kind: OneOf["constant", "scalar", "number"]
    dtype: str
    text: str = ""
    place: int = -1
    count: Count = (-1, 0)


@classes.frozen
class Step:
    """An instruction on places.

    `point` finds the row of an access by its indices, `load` and `store` move its elements, perhaps
    where a condition holds; `fill` copies a value to all lanes, `index` gives the lanes' indices.
    All others are named after operation and dtypes, as in `add.float64`.
    """

    name: str
    out: Place
    args: tuple[Place, ...] = ()


Code: TypeAlias = tuple[Step, ...]


@classes.frozen
class Loop:
    """A loop of a nest; value `v<number of the loop>` is its index."""

    dim: str
    range: Span
    backward: bool = False
    shared: bool = False


@classes.frozen
class Part:
    """A range of the innermost loop, and what each strip or index of it does."""

    range: Span
    code: Code


@classes.frozen
class Nest:
    """Loops around steps.

    Attributes:
        guard: it runs if none of these is empty.
        loops: from the outermost to the innermost.
        lanes: the loop whose indices are lanes of a strip, -1 for a single lane: the innermost, or
            that around it.
        accesses: the rows of memory.
        blocks: how many blocks it needs.
        values: how many values, those of loops first.
        known: values of the call.
        around: what each index of the loops around the lanes does, by the number of loops.
        rows: what several indices of the loop right around the lanes do at once; these indices are
            the lanes. Place `r0` is the number that block `t0` has for the current one.
        first: what a strip does before the loop inside of it.
        parts: the parts of the innermost loop in order.

    """

    guard: tuple[Span, ...]
    loops: tuple[Loop, ...]
    lanes: int
    accesses: tuple[Access, ...]
    blocks: int
    values: int
    known: tuple[Known, ...]
    around: tuple[Code, ...]
    rows: Code
    first: Code
    parts: tuple[Part, ...]


@classes.frozen
class Cut:
    """A range cut into tiles of at most `size` indices, of nearly equal sizes if `even`."""

    range: Span
    size: int
    even: bool = False


@classes.frozen
class Member:
    """A nest of tiles: by loop the cut of its dimension or -1, by cut the points around a tile."""

    nest: Nest
    cuts: tuple[int, ...]
    margins: tuple[tuple[int, int], ...]


@classes.frozen
class Tiles:
    """Nests that run tile by tile; see `stages/ir/loops/cpu.py`. `rolled` is a cut, or -1."""

    guard: tuple[Span, ...]
    box: tuple[Span, ...]
    cuts: tuple[Cut, ...]
    members: tuple[Member, ...]
    rolled: int
    threads: int


@classes.frozen
class Node:
    """A nest or tiles of some, for a statement; 0 where statements cannot run alone."""

    statement: int
    body: Nest | Tiles


@classes.frozen
class Program:
    """All nodes in order; `clamped` run in their place where integer `clamping` is 1.

    Threads share loops over `parallel_from` points; -1 lets the call decide. Integer `stepped`
    selects a statement, 0 all of them; -1 says that there is no such integer, nor for `clamping`.
    """

    name: str
    buffers: tuple[Buffer, ...]
    slots: tuple[Count, ...]
    nodes: tuple[Node, ...]
    clamped: tuple[Node, ...] = ()
    clamping: int = -1
    stepped: int = -1
    parallel_from: int = -1
