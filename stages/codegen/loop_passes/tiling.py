"""Run consecutive loop nests tile by tile, so that the arrays between them stay in cache.

A run of nests is cut along dimensions that threads share in all of them. Where a nest reads an
array at neighbouring points, tiles overlap: the earlier nest computes the points in its margin
again in each tile, and the nests take turns row by row. An array that only one run touches becomes
as large as a tile, with a copy for each thread. Vertical sweeps whose columns lie side by side are
also cut along the rows of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from ....runtime.language.dimension import Dimension, DimensionKind
from ...ir.bounds import Const, Range, difference, greatest, least
from ...ir.flat_kernel import Buffer, Kernel
from ...ir.nest_groups import Cut, Tiling
from ...ir.nests import Load, Loop, Nest, Store
from ..on_lists import on_lists
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules
from .arena import lives_of
from .rings import in_ring, is_ring

Margin: TypeAlias = tuple[int, int]  # points before and beyond a tile

# Extents that the cost model assumes for dimensions that are known at the call only.
USUAL: Final = {DimensionKind.HORIZONTAL: 256, DimensionKind.VERTICAL: 100, DimensionKind.LOCAL: 8}
WIDEST_MARGIN: Final = 4
LARGEST_TILE: Final = 64
LARGEST_TURN: Final = 256  # rows of a tile whose arrays have as many rows as are in use at a time
ROW: Final = 64  # rows of columns are cut in multiples of so many
NO_MARGIN: Final[Margin] = (0, 0)


@on_lists
def tile(kernel: Kernel, rules: Rules) -> Kernel:
    """Tile the nests that hand arrays to each other."""
    lives = lives_of(kernel.nests)
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    nests = list(kernel.nests)
    tilings: list[Tiling] = []
    first = 0
    while first < len(nests):
        run = _run_from(first, kernel.nests, lives, buffers)
        tiling = None if run is None else _tiling(run, buffers, rules)
        if run is None or tiling is None:
            first += 1
            continue
        for index in range(run.first, run.stop):
            nests[index] = _cut_nest(nests[index], tiling, run.margins[index - first])
        for name in run.local:
            buffers[name] = _local(buffers[name], run, tiling.cuts, tiling.rolled)
        tilings.append(tiling)
        first = run.stop
    if not tilings:
        return kernel
    return attrs.evolve(
        kernel,
        nests=tuple(nests),
        buffers=tuple(buffers[buffer.name] for buffer in kernel.buffers),
        tilings=tuple(tilings),
        threads=rules.target.cores,
    )


# --- runs ---------------------------------------------------------------------------------------


@attrs.frozen
class _Run:
    """The nests `first:stop`, which can be cut along the dimensions of `margins[0]`.

    `local` are the arrays that no other nest touches, with the margins of what fills them.
    """

    first: int
    stop: int
    nests: tuple[Nest, ...]
    margins: tuple[Mapping[Dimension, Margin], ...]
    local: Mapping[str, Mapping[Dimension, Margin]]

    def margin(self, dim: Dimension) -> int:
        """Return how many points of neighbouring tiles a tile computes again, at most."""
        return max(sum(margins[dim]) for margins in self.margins)


def _run_from(
    first: int,
    nests: Sequence[Nest],
    lives: Mapping[str, tuple[int, int]],
    buffers: Mapping[str, Buffer],
) -> _Run | None:
    """Return the longest run of nests from `first` that hands an array on; shorten it to fit."""
    stop = first + 1
    while (
        stop < len(nests)
        and nests[stop].statement == nests[first].statement
        and _shared_dims(nests[first : stop + 1])
    ):
        stop += 1
    while stop - first > 1:
        members = nests[first:stop]
        stored = {row.buffer for nest in members for row in nest.body if isinstance(row, Store)}
        local = {
            name
            for name in stored
            if buffers[name].memory == "arena" and first <= lives[name][0] and lives[name][1] < stop
        }
        margins: list[dict[Dimension, Margin]] = [{} for _ in members]
        ends = []
        for dim in _shared_dims(members):
            found, end = _margins(members, dim, stored, local)
            if end == len(members):
                for own, margin in zip(margins, found, strict=True):
                    own[dim] = margin
            ends.append(end)
        if local and margins[0] and not stored <= local:
            return _made(first, members, margins, local)
        stop = first + min(max(ends, default=0), len(members) - 1)
    return None


def _made(
    first: int,
    members: Sequence[Nest],
    margins: Sequence[Mapping[Dimension, Margin]],
    local: set[str],
) -> _Run:
    fillers: dict[str, dict[Dimension, Margin]] = {}
    for nest, own in zip(members, margins, strict=True):
        for row in nest.body:
            if isinstance(row, Store) and row.buffer in local:
                known = fillers.setdefault(row.buffer, dict(own))
                for dim, margin in own.items():
                    known[dim] = _wider(known[dim], margin)
    return _Run(first, first + len(members), tuple(members), tuple(margins), fillers)


def _shared_dims(members: Sequence[Nest]) -> list[Dimension]:
    """Return the dimensions that threads share in every nest, and the common innermost one."""
    dims = [loop.range.dim for loop in members[0].loops if loop.kind == "parallel"]
    dims += [loop.range.dim for loop in members[0].loops if loop.kind == "vector"]
    for nest in members[1:]:
        kinds = {loop.range.dim: loop.kind for loop in nest.loops}
        own = {loop.range.dim: loop.kind for loop in members[0].loops}
        dims = [dim for dim in dims if kinds.get(dim) == own[dim]]
    return dims


def _margins(
    members: Sequence[Nest], dim: Dimension, stored: set[str], local: set[str]
) -> tuple[list[Margin], int]:
    """Return the margin of each nest along a dimension, and before which nest the run must end.

    Where that is the number of nests, the run is whole; only then all margins are known. Each point
    of memory that other nests see is written in one tile only, and a nest reads such a point in the
    tile that wrote it.
    """
    margins: list[Margin] = [NO_MARGIN] * len(members)
    asked: dict[str, Margin] = {}
    for index in reversed(range(len(members))):
        nest = members[index]
        kept = [row.buffer for row in nest.body if isinstance(row, Store)]
        for name in kept:
            margins[index] = _wider(margins[index], asked.get(name, NO_MARGIN))
        if margins[index] != NO_MARGIN and any(name not in local for name in kept):
            return margins, index + 1
        if max(margins[index]) > WIDEST_MARGIN:
            return margins, min((index + len(members)) // 2 + 1, len(members) - 1)
        for load in nest.body:
            if isinstance(load, Load) and load.buffer in stored:
                offset = _plain_offset(load, dim)
                others = load.buffer not in local
                if offset is None or (others and (offset or margins[index] != NO_MARGIN)):
                    return margins, index
                before, beyond = margins[index]
                more = max(0, before - offset), max(0, beyond + offset)
                asked[load.buffer] = _wider(asked.get(load.buffer, NO_MARGIN), more)
    return margins, len(members)


def _plain_offset(load: Load, dim: Dimension) -> int | None:
    """Return the offset at which a load reads; None where only a value at run time tells."""
    if dim not in load.dims:
        return None
    axis = load.dims.index(dim)
    return None if load.rows and load.rows[axis] is not None else load.offsets[axis]


def _wider(left: Margin, right: Margin) -> Margin:
    return max(left[0], right[0]), max(left[1], right[1])


# --- sizes --------------------------------------------------------------------------------------


def _tiling(run: _Run, buffers: Mapping[str, Buffer], rules: Rules) -> Tiling | None:
    """Return the cuts of a run: its arrays fill at most half of the fast memory of a core."""
    inner = run.nests[0].loops[-1].range.dim
    arrays = [buffers[name] for name in run.local]
    outer = [dim for dim in run.margins[0] if dim is not inner]
    free = [dim for dim in outer if not run.margin(dim)]
    sizes = dict.fromkeys(free, 1)
    budget = rules.target.core_memory // 2
    bound = [dim for dim in outer if run.margin(dim)]
    needed = _bytes(arrays, sizes)
    wanted = rules.tile_size
    if bound and (wanted or not free or needed > budget):
        rings = all(is_ring(array, bound[-1]) for array in arrays)
        sizes[bound[-1]] = wanted or (LARGEST_TURN if rings else LARGEST_TILE)
    elif not (wanted or free or len(run.nests[0].loops) == 1):
        pass  # threads share elements that tables connect, see `portions.py`, better than levels
    elif (wanted or needed > budget) and inner in run.margins[0] and not run.margin(inner):
        columns = wanted or budget // _bytes(arrays, {**sizes, inner: 1})
        sizes[inner] = max(ROW, columns // ROW * ROW)
    if not sizes:
        return None
    order = [dim for dim in run.margins[0] if dim in sizes]
    rolled = next((dim for dim in sizes if run.margin(dim)), None)
    even = (inner,) if wanted else (inner, rolled)  # equal parts for threads, unless wished
    cuts = tuple(Cut(_range(run, dim), sizes[dim], even=dim in even) for dim in order)
    kept = _bytes([_local(array, run, cuts, rolled) for array in arrays], {})
    names = ", ".join(array.name for array in arrays)
    reason = f"{names}: about {-(-kept // 1024)} of {rules.target.core_memory // 1024} KiB of cache"
    return Tiling(run.first, run.stop, cuts, reason, rolled)


def _bytes(arrays: Sequence[Buffer], sizes: Mapping[Dimension, int]) -> int:
    """Estimate the bytes of the arrays of one tile."""
    total = 0
    for array in arrays:
        product = ITEMSIZES[array.dtype]
        for range_ in array.box:
            known = difference(range_.stop, range_.start)
            usual = USUAL[range_.dim.kind] if known is None else max(known, 1)
            product *= sizes.get(range_.dim, usual)
        total += product
    return max(total, 1)


def _range(run: _Run, dim: Dimension) -> Range:
    """Return the hull of the ranges over which a run writes memory that other nests see."""
    ranges = [
        next(loop.range for loop in nest.loops if loop.range.dim is dim)
        for nest in run.nests
        if any(isinstance(row, Store) and row.buffer not in run.local for row in nest.body)
    ]
    return Range(dim, least(each.start for each in ranges), greatest(each.stop for each in ranges))


# --- cutting ------------------------------------------------------------------------------------


def _cut_nest(nest: Nest, tiling: Tiling, margins: Mapping[Dimension, Margin]) -> Nest:
    return attrs.evolve(nest, loops=tuple(_cut_loops(nest.loops, tiling, margins)))


def _cut_loops(
    loops: Sequence[Loop], tiling: Tiling, margins: Mapping[Dimension, Margin]
) -> Iterator[Loop]:
    for loop in loops:
        margin = margins[loop.range.dim] if loop.range.dim in tiling.dims else None
        if loop.kind == "vector":
            yield attrs.evolve(loop, margin=margin)
        else:
            yield attrs.evolve(loop, kind="sequential", margin=margin)


def _local(array: Buffer, run: _Run, cuts: Sequence[Cut], rolled: Dimension | None) -> Buffer:
    """Return an array as large as a tile, or as the rows of it that are in use at a time."""
    array = _cut_array(array, cuts, run.local[array.name])
    return array if rolled is None else in_ring(array, run.nests, run.margins, rolled)


def _cut_array(array: Buffer, cuts: Sequence[Cut], margins: Mapping[Dimension, Margin]) -> Buffer:
    sizes = {cut.range.dim: cut.size for cut in cuts}
    box = tuple(
        Range(
            range_.dim,
            Const(-margins[range_.dim][0]),
            Const(sizes[range_.dim] + margins[range_.dim][1]),
        )
        if range_.dim in sizes
        else range_
        for range_ in array.box
    )
    return attrs.evolve(array, memory="tile", box=box)
