"""Run consecutive loop nests tile by tile, so that the arrays between them stay in cache.

A run of nests is cut along dimensions that threads share in all of them. Where a nest reads an
array at neighbouring points, tiles overlap: the earlier nest computes the points in its margin
again in each tile, and the nests take turns row by row. An array that only one run touches becomes
as large as a tile, with a copy for each thread. Vertical sweeps whose columns lie side by side are
also cut along the rows of columns.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from .....runtime.language import Dimension, DimensionKind
from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    MOST_IN_TURN,
    Buffer,
    Const,
    Cut,
    Kernel,
    Load,
    Member,
    Nest,
    Node,
    Range,
    Seq,
    Store,
    Tiles,
    accesses,
    arrays_of,
    difference,
    greatest,
    in_order,
    least,
    rewrite,
    touches,
)
from ...pass_list import Rules
from ..options import options_of
from .in_place import in_place

Margin: TypeAlias = tuple[int, int]  # points before and beyond a tile

# Extents that the cost model assumes for dimensions that are known at the call only.
USUAL: Final = {DimensionKind.HORIZONTAL: 256, DimensionKind.VERTICAL: 100, DimensionKind.LOCAL: 8}
WIDEST_MARGIN: Final = 4
LARGEST_TILE: Final = 64
LARGEST_TURN: Final = 256  # rows of a tile whose arrays have as many rows as are in use at a time
ROW: Final = 64  # rows of columns are cut in multiples of so many
NO_MARGIN: Final[Margin] = (0, 0)


def tile(kernel: Kernel, rules: Rules) -> Kernel:
    """Tile the nests that hand arrays to each other."""
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    everywhere = touches(kernel)
    cut: dict[str, Buffer] = {}

    def in_tiles(node: Node) -> Node:
        if not isinstance(node, Seq):
            return node
        pairs = list(_tiled(node.steps, everywhere, buffers, rules))
        cut.update((array.name, array) for _, arrays in pairs for array in arrays)
        return in_order(*(each for each, _ in pairs))

    kernel = rewrite(kernel, in_tiles)
    return classes.evolve(kernel, buffers=tuple({**buffers, **cut}.values()))


def _tiled(
    nodes: Sequence[Node],
    everywhere: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    rules: Rules,
) -> Iterator[tuple[Node, Sequence[Buffer]]]:
    """Yield the nodes of a `Seq`, runs of nests as tiles, each with the arrays cut to tiles."""
    nodes, fills = _parted(nodes, buffers) if rules.many_outputs else (nodes, ())
    while nodes:
        run = _run_from(nodes, everywhere, buffers, rules.many_outputs)
        tiles = None if run is None else _tiles(run, buffers, rules)
        yield tiles or (nodes[0], ())
        nodes = nodes[len(run.nests) if run and tiles else 1 :]
    yield from ((fill, ()) for fill in fills)


def _parted(
    nodes: Sequence[Node], buffers: Mapping[str, Buffer]
) -> tuple[Sequence[Node], Sequence[Node]]:
    """Return nodes, and nests that fill fields and may run behind them.

    What lies around a box needs no tile: there each row would test whether it is filled.
    """
    first, last = list[Node](), list[Node]()
    for node in reversed(nodes):
        stored = arrays_of(node, Store) if isinstance(node, Nest) else set[str]()
        is_fill = stored and not arrays_of(node, Load)
        is_fill = is_fill and all(buffers[name].memory == "field" for name in stored)
        apart = all(stored.isdisjoint(touches(each)) for each in first)
        (last if is_fill and apart else first).insert(0, node)
    return first, last


# --- runs ---------------------------------------------------------------------------------------


@classes.frozen
class _Run:
    """Nests that can be cut along the dimensions of `margins[0]`.

    `local` are the arrays that no other nest touches, with the margins of what fills them.
    """

    nests: tuple[Nest, ...]
    margins: tuple[Mapping[Dimension, Margin], ...]
    local: Mapping[str, Mapping[Dimension, Margin]]

    def margin(self, dim: Dimension) -> int:
        """Return how many points of neighbouring tiles a tile computes again, at most."""
        return max(sum(margins[dim]) for margins in self.margins)


def _run_from(
    nodes: Sequence[Node],
    everywhere: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    together: bool,
) -> _Run | None:
    """Return the longest run of nests at the start that hands an array on; shorten it to fit.

    The nests are of one group, unless those of several run `together`.
    """
    members: list[Nest] = []
    for node in nodes:
        if not isinstance(node, Nest) or not _shared_dims([*members, node]):
            break
        if not together and members and node.group != members[0].group:
            break
        members.append(node)
    while len(members) > 1:
        stored = dict.fromkeys(row.buffer for nest in members for row in accesses(nest, Store))
        inside = touches(Seq(tuple(members)))
        local = [
            name
            for name in stored
            if buffers[name].memory == "arena" and inside[name] == everywhere[name]
        ]
        margins: list[dict[Dimension, Margin]] = [{} for _ in members]
        ends = []
        for dim in _shared_dims(members):
            found, end = _margins(members, dim, stored, local)
            if end == len(members):
                for own, margin in zip(margins, found, strict=True):
                    own[dim] = margin
            ends.append(end)
        if local and margins[0] and len(local) < len(stored):
            pairs = list(zip(members, margins, strict=True))
            fillers = {
                name: [own for nest, own in pairs if name in arrays_of(nest, Store)]
                for name in local
            }
            widest = {
                name: {dim: _widest(own[dim] for own in several) for dim in margins[0]}
                for name, several in fillers.items()
            }
            return _Run(tuple(members), tuple(margins), widest)
        members = members[: min(max(ends, default=0), len(members) - 1)]
    return None


def _shared_dims(members: Sequence[Nest]) -> list[Dimension]:
    """Return the dimensions that threads share in every nest, and the common innermost one."""
    kinds = [{loop.range.dim: loop.kind for loop in nest.loops} for nest in members]
    dims = [dim for kind in ("parallel", "vector") for dim, own in kinds[0].items() if own == kind]
    return [dim for dim in dims if all(each.get(dim) == kinds[0][dim] for each in kinds)]


def _margins(
    members: Sequence[Nest], dim: Dimension, stored: Container[str], local: Container[str]
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
        kept = [row.buffer for row in accesses(nest, Store)]
        margins[index] = _widest(asked.get(name, NO_MARGIN) for name in kept)
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
                asked[load.buffer] = _widest([asked.get(load.buffer, NO_MARGIN), more])
    return margins, len(members)


def _plain_offset(load: Load, dim: Dimension) -> int | None:
    """Return the offset at which a load reads; None where only a value at run time tells."""
    if dim not in load.dims:
        return None
    axis = load.dims.index(dim)
    return None if load.rows and load.rows[axis] is not None else load.offsets[axis]


def _widest(margins: Iterable[Margin]) -> Margin:
    before, beyond = zip(NO_MARGIN, *margins, strict=True)
    return max(before), max(beyond)


# --- sizes --------------------------------------------------------------------------------------


def _tiles(
    run: _Run, buffers: Mapping[str, Buffer], rules: Rules
) -> tuple[Tiles, Sequence[Buffer]] | None:
    """Return a run in tiles whose arrays fill at most half of the fast memory of a core."""
    inner = run.nests[0].loops[-1].range.dim
    arrays = [buffers[name] for name in run.local]
    outer = [dim for dim in run.margins[0] if dim is not inner]
    free = [dim for dim in outer if not run.margin(dim)]
    sizes = dict.fromkeys(free, 1)
    budget = rules.target.core_memory // 2
    bound = [dim for dim in outer if run.margin(dim)]
    needed = _bytes(arrays, sizes)
    wanted = options_of(rules).tile_size
    if bound and (wanted or not free or needed > budget):
        rings = all(_is_ring(array, bound[-1]) for array in arrays)
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
    single = {dim for dim, size in sizes.items() if size == 1}
    members = tuple(
        Member(_sequential(nest, single), tuple(own[cut.range.dim] for cut in cuts))
        for nest, own in zip(run.nests, run.margins, strict=True)
    )
    names = tuple(name for name in buffers if name in run.local)
    tiles = Tiles(names, cuts, members, "", rolled, rules.target.cores)
    arrays = arrays if rolled else in_place(arrays, run.nests)
    arrays = [_local(array, run, tiles) for array in arrays]
    kept, memory = _bytes([each for each in arrays if not each.over], {}), rules.target.core_memory
    reason = f"{', '.join(run.local)}: about {-(-kept // 1024)} of {memory // 1024} KiB of cache"
    return classes.evolve(tiles, reason=reason), arrays


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
        if any(row.buffer not in run.local for row in accesses(nest, Store))
    ]
    return Range(dim, least(each.start for each in ranges), greatest(each.stop for each in ranges))


# --- cutting ------------------------------------------------------------------------------------


def _sequential(nest: Nest, single: Container[Dimension]) -> Nest:
    """Return a nest whose loops no threads share; those over a `single` index of a tile are outer.

    The loop around the innermost one then walks on in memory, and tells what to prefetch.
    """
    order = sorted(nest.loops[:-1], key=lambda loop: loop.range.dim not in single)
    loops = (
        loop if loop.kind == "vector" else classes.evolve(loop, kind="sequential")
        for loop in (*order, nest.loops[-1])
    )
    between = range(1, len(order)) if (*order,) != nest.loops[:-1] else ()
    body = (
        classes.evolve(row, level=len(order)) if row.level in between else row for row in nest.body
    )
    return classes.evolve(nest, loops=tuple(loops), body=tuple(body))


def _local(array: Buffer, run: _Run, tiles: Tiles) -> Buffer:
    """Return an array as large as a tile, or as the rows of it that are in use at a time.

    The nest that fills an array is a few rows ahead of those that read it. What lies further back
    is not read again, so the array needs few rows, which stay in a cache: those in use, and as many
    more as have their turn together at most. A call takes a power of two of them, and the row with
    index i lies in place i modulo their number.
    """
    sizes = {cut.range.dim: cut.size for cut in tiles.cuts}
    ring = tiles.rolled if tiles.rolled is not None and _is_ring(array, tiles.rolled) else None
    box = []
    for range_ in array.box:
        dim, ends = range_.dim, (range_.start, range_.stop)
        if dim is ring:
            most = tiles.rows_in_use(array.name) + MOST_IN_TURN - 1
            ends = Const(0), Const(1 << (most - 1).bit_length())
        elif dim in sizes:
            before, beyond = run.local[array.name][dim]
            ends = Const(-before), Const(sizes[dim] + beyond)
        box.append(Range(dim, *ends))
    return classes.evolve(array, memory="tile", box=tuple(box), ring=ring)


def _is_ring(array: Buffer, rolled: Dimension) -> bool:
    """Tell whether an array keeps rows along `rolled`, which tiles of any height share."""
    return rolled in array.dims and array.unit is not rolled
