"""Run consecutive loop nests tile by tile, so that the arrays between them stay in cache.

A run of nests is cut along dimensions that threads share in all of them. Where a nest reads an
array at neighbouring points, tiles overlap: the earlier nest computes the points in its margin
again in each tile, and the nests take turns row by row. An array that only one run touches becomes
as large as a tile, with a copy for each thread. Groups of stores that share an array run in the
same tiles, which cut the hull of their boxes. Vertical sweeps whose columns lie side by side are
also cut along the rows of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .....runtime.language.dimension import Dimension, DimensionKind
from .....runtime.process import classes
from ....ir.bounds import Const, Range, difference
from ....ir.loops.buffers import Buffer
from ....ir.loops.cpu import Cut, Tiles
from ....ir.loops.group import Member
from ....ir.loops.kernel import Group, Kernel, Node, Seq, in_order
from ....ir.loops.nest import Load, Nest, Store
from ....ir.loops.traverse import accesses, rewrite, touches
from ...schedule.costs import ITEMSIZES
from ...schedule.needs import around, box_of, gated_by, need_of
from ...schedule.rules import Rules
from ..options import options_of
from .tiled_runs import Run, run_from

# Extents that the cost model assumes for dimensions that are known at the call only.
USUAL: Final = {DimensionKind.HORIZONTAL: 256, DimensionKind.VERTICAL: 100, DimensionKind.LOCAL: 8}
LARGEST_TILE: Final = 64
LARGEST_TURN: Final = 256  # rows of a tile whose arrays have as many rows as are in use at a time
ROW: Final = 64  # rows of columns are cut in multiples of so many


def tile(kernel: Kernel, rules: Rules) -> Kernel:
    """Tile the nests that hand arrays to each other."""
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    everywhere = touches(kernel)
    cut: dict[str, Buffer] = {}

    def in_tiles(node: Node) -> Node:
        if not isinstance(node, Seq):
            return node
        pairs = list(_tiled(node.steps, everywhere, buffers, kernel.groups, rules))
        cut.update((array.name, array) for _, arrays in pairs for array in arrays)
        return in_order(*(each for each, _ in pairs))

    kernel = rewrite(kernel, in_tiles)
    return classes.evolve(kernel, buffers=tuple({**buffers, **cut}.values()))


def _tiled(
    nodes: Sequence[Node],
    everywhere: Mapping[str, int],
    buffers: Mapping[str, Buffer],
    groups: Sequence[Group],
    rules: Rules,
) -> Iterator[tuple[Node, Sequence[Buffer]]]:
    """Yield the nodes of a `Seq`, runs of nests as tiles, each with the arrays cut to tiles."""
    while nodes:
        run = run_from(nodes, everywhere, buffers)
        tiles = None if run is None else _tiles(run, buffers, groups, rules)
        yield tiles or (nodes[0], ())
        nodes = nodes[len(run.nests) if run and tiles else 1 :]


# --- sizes --------------------------------------------------------------------------------------


def _tiles(
    run: Run, buffers: Mapping[str, Buffer], groups: Sequence[Group], rules: Rules
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
    cuts = tuple(Cut(_range(run, dim, groups), sizes[dim], even=dim in even) for dim in order)
    arrays = [_local(array, run, cuts, rolled) for array in arrays]
    kept, memory = _bytes(arrays, {}), rules.target.core_memory
    reason = f"{', '.join(run.local)}: about {-(-kept // 1024)} of {memory // 1024} KiB of cache"
    members = tuple(
        Member(_sequential(nest), tuple(own[cut.range.dim] for cut in cuts))
        for nest, own in zip(run.nests, run.margins, strict=True)
    )
    names = tuple(name for name in buffers if name in run.local)
    return Tiles(names, cuts, members, reason, rolled, rules.target.cores), arrays


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


def _range(run: Run, dim: Dimension, groups: Sequence[Group]) -> Range:
    """Return the hull of the ranges over which a run writes memory that other nests see.

    Where they differ by group, a group whose box the call finds empty adds nothing.
    """
    ranges = [
        (loop.range, nest.group)
        for nest in run.nests
        if any(row.buffer not in run.local for row in accesses(nest, Store))
        for loop in nest.loops
        if loop.range.dim is dim
    ]
    needs = [need_of((range_,)) for range_, _ in ranges]
    if len({group for _, group in ranges}) > 1 and len({range_ for range_, _ in ranges}) > 1:
        needs = [
            gated_by(need, groups[group].box)
            for need, (_, group) in zip(needs, ranges, strict=True)
        ]
    (found,) = box_of(around(needs), (dim,))
    return found


# --- cutting ------------------------------------------------------------------------------------


def _sequential(nest: Nest) -> Nest:
    """Return a nest whose loops no threads share."""
    loops = (
        loop if loop.kind == "vector" else classes.evolve(loop, kind="sequential")
        for loop in nest.loops
    )
    return classes.evolve(nest, loops=tuple(loops))


def _local(array: Buffer, run: Run, cuts: Sequence[Cut], rolled: Dimension | None) -> Buffer:
    """Return an array as large as a tile, or as the rows of it that are in use at a time.

    The nest that fills an array is a few rows ahead of those that read it. What lies further back
    is not read again, so the array needs few rows, a power of two, which stay in the first cache:
    the row with index i lies in place i modulo their number.
    """
    sizes = {cut.range.dim: cut.size for cut in cuts}
    ring = rolled if rolled is not None and _is_ring(array, rolled) else None
    box = []
    for range_ in array.box:
        dim, ends = range_.dim, (range_.start, range_.stop)
        if dim is ring:
            ends = Const(0), Const(_rows_in_use(array.name, run, dim))
        elif dim in sizes:
            before, beyond = run.local[array.name][dim]
            ends = Const(-before), Const(sizes[dim] + beyond)
        box.append(Range(dim, *ends))
    return classes.evolve(array, memory="tile", box=tuple(box), ring=ring)


def _is_ring(array: Buffer, rolled: Dimension) -> bool:
    """Tell whether an array keeps rows along `rolled`, which tiles of any height share."""
    return rolled in array.dims and array.unit is not rolled


def _rows_in_use(name: str, run: Run, rolled: Dimension) -> int:
    """Count the rows from the last one that any nest touches to the newest one.

    While row r has its turn, a nest works on the row r + its margin beyond the tile.
    """
    touched = [
        own[rolled][1] + (row.offsets[row.dims.index(rolled)] if isinstance(row, Load) else 0)
        for nest, own in zip(run.nests, run.margins, strict=True)
        for row in nest.body
        if isinstance(row, Load | Store) and row.buffer == name
    ]
    return 1 << (max(touched) - min(touched)).bit_length()
