"""Let scans over the same columns hand numbers on in shared memory of a GPU, as one kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.bounds import Bound, Const, Range, add, maximum, multiply, subtract
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nest_groups import Together
from ...ir.nests import Load, Loop, Nest, Store
from ..on_lists import on_lists
from ..schedule.costs import ITEMSIZES
from ..schedule.hazards import AnyNest
from ..schedule.rules import Rules
from .blocking import in_blocks
from .column_tiles import in_tiles
from .landing import land

# Shared memory answers soon, and registers are for more blocks.
AHEAD_IN_TILES: Final = 3
AHEAD_OF_WORDS: Final = 4
# Small blocks leave the least shared memory of a multiprocessor unused, and short rows of a level.
THREADS: Final = 32
THREADS_OF_WORDS: Final = 96  # where no array has elements of more than 4 bytes
WORD: Final = 4


@on_lists
def hand_on(kernel: Kernel, rules: Rules) -> Kernel:
    """Make scans that follow each other one kernel if they save arrays in memory."""
    if rules.checked or not rules.gpu.shared:
        return kernel
    together = tuple(
        made for first, stop in _runs(kernel.nests) if (made := _made(kernel, first, stop, rules))
    )
    gone = {name: each for each in together if not each.tiles for name in each.arrays}
    buffers = tuple(
        _where_needed(buffer, each, kernel.nests[each.first].loops[-1].range.dim)
        if (each := gone.get(buffer.name))
        else buffer
        for buffer in kernel.buffers
    )
    tiled = {n: each for each in together if each.tiles for n in range(each.first, each.stop)}
    nests = tuple(
        attrs.evolve(nest, ahead=min(nest.ahead, rules.gpu.ahead or _ahead(tiled[number])))
        if number in tiled
        else nest
        for number, nest in enumerate(kernel.nests)
    )
    return attrs.evolve(kernel, nests=nests, together=together, buffers=buffers)


def _ahead(scans: Together) -> int:
    """Return how many levels to load ahead from tiles, in the registers that their blocks leave."""
    widest = max(ITEMSIZES[tile.dtype] for tile in scans.tiles)
    return AHEAD_OF_WORDS if widest <= WORD else AHEAD_IN_TILES


def _runs(nests: Sequence[Nest]) -> Iterator[tuple[int, int]]:
    """Yield the longest runs of scans over the same columns, single ones too."""
    first = 0
    for stop in range(1, len(nests) + 1):
        if stop == len(nests) or not _are_alike(nests[first], nests[stop]):
            if nests[first].states:
                yield first, stop
            first = stop


def _are_alike(one: Nest, other: Nest) -> bool:
    return (
        bool(one.states and other.states)
        and not (one.parts or other.parts)
        and (one.statement, one.guard) == (other.statement, other.guard)
        and columns(one) == columns(other)
        and one.loops[-1].range.dim is other.loops[-1].range.dim
        and all(loop.kind == "thread" for nest in (one, other) for loop in nest.loops[:-1])
        and bool(columns(one))
    )


def columns(nest: Nest) -> tuple[Loop, ...]:
    """Return the loops of a scan over its columns."""
    return nest.loops[:-1]


def _made(kernel: Kernel, first: int, stop: int, rules: Rules) -> Together | None:
    nests = kernel.nests[first:stop]
    if nests[0].parts or not columns(nests[0]) or any(_crosses(nests)):
        return None
    stored = {row.buffer for nest in nests for row in nest.body if isinstance(row, Store)}
    own = stored - kernel.touched_outside(first, stop)
    arrays = tuple(b for b in kernel.buffers if b.memory == "arena" and b.name in own)
    if rules.gpu.tiles >= 0:
        tiled = in_tiles(kernel, first, stop, arrays, rules)
        if tiled is not None:
            return tiled
    if not arrays or stop - first == 1:
        return None
    is_narrow = max(ITEMSIZES[buffer.dtype] for buffer in arrays) <= WORD
    (threads,) = rules.gpu.column_block[:1] or (THREADS_OF_WORDS if is_narrow else THREADS,)
    needed = _bytes(arrays, nests[0].loops[-1].range.dim, threads)
    names = tuple(buffer.name for buffer in arrays)
    again = sorted(_read_again(nests, names)) if rules.gpu.keep else []
    kept = f"; caches keep {', '.join(again)}" if again else ""
    made = Together(
        first, stop, names, threads, needed, rules.gpu.most_shared,
        f"{', '.join(names)} need not go to memory and back{kept}", keeps=bool(again),
    )  # fmt: skip
    return land(kernel, in_blocks(kernel, made, rules), rules)


def _bytes(arrays: Sequence[Buffer], axis: Dimension, threads: int) -> Bound:
    """Return the bytes of all levels of some arrays for the columns of `threads` threads."""
    needed: Bound = Const(0)
    for buffer in arrays:
        levels = multiply(maximum(_extent(_along(buffer, axis)), Const(0)), threads)
        needed = add(needed, multiply(levels, ITEMSIZES[buffer.dtype]))
    return needed


def _read_again(nests: Sequence[Nest], shared: Sequence[str]) -> set[str]:
    """Return the buffers that several scans read and that are not in shared memory."""
    counts = Counter(
        name
        for nest in nests
        for name in {row.buffer for row in nest.body if isinstance(row, Load)} - set(shared)
    )
    return {name for name, count in counts.items() if count > 1}


def _crosses(nests: Sequence[Nest]) -> Iterator[str]:
    """Yield the buffers that one nest stores and any of them reads in other columns."""
    stored = {row.buffer for nest in nests for row in nest.body if isinstance(row, Store)}
    for nest in nests:
        for row in nest.body:
            if isinstance(row, Load) and row.buffer in stored and not is_own_column(nest, row):
                yield row.buffer


def is_own_column(nest: AnyNest, load: Load) -> bool:
    """Tell whether a load reads the column of its thread."""
    axis = nest.loops[-1].range.dim
    named = load.rows or (None,) * len(load.dims)
    places = zip(load.dims, named, load.offsets, strict=True)
    return all(row is None and (dim is axis or not offset) for dim, row, offset in places)


def _extent(range_: Range) -> Bound:
    return subtract(range_.stop, range_.start)


def _along(buffer: Buffer, axis: object) -> Range:
    return next(range_ for range_ in buffer.box if range_.dim is axis)


def _where_needed(buffer: Buffer, together: Together, axis: Dimension) -> Buffer:
    """Return an array that has no columns in calls where it is in shared memory."""
    cut = next(dim for dim in buffer.order if dim is not axis)
    box = []
    for range_ in buffer.box:
        if together.blocked and range_.dim is axis:
            range_ = together.blocked.outside  # noqa: PLW2901
        if range_.dim is cut:
            extent = multiply(
                maximum(_extent(range_), Const(0)), subtract(Const(1), together.node.fits)
            )
            range_ = Range(cut, range_.start, add(range_.start, extent))  # noqa: PLW2901
        box.append(range_)
    return attrs.evolve(buffer, box=tuple(box))
