"""The sweeps of a tree of loops for a CPU: those of one of the threads that share it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import accumulate
from math import ceil, prod
from operator import mul
from typing import Any, Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Buffer,
    Kernel,
    Nest,
    Node,
    Portions,
    Range,
    Tiles,
    marks_of,
    nests_of,
)
from .sizes import RIM, Sizes
from .sweeps import Body, Sweep, in_loops, ran, touches_of

FEWEST: Final = 8  # rows of a block that marches, at least
KEPT: Final = 3  # portions whose rows of an array a thread keeps
ITEM: Final = 8  # bytes
Counted: TypeAlias = tuple[Dimension, float, float]  # a loop: dimension, iterations, step


@classes.frozen
class Work:
    """A nest as a thread runs it: how often its rows run, inside of how many loops.

    `times[n]` are the iterations of the n outer loops together, of the innermost one strips are not
    counted yet; `row` are the points of its innermost loop.
    """

    nest: Nest
    times: tuple[float, ...]
    row: float


@classes.frozen
class Leaf:
    """What runs as one loop that threads share: its sweep, its work, and the points of its loops.

    Attributes:
        node: the nest or group.
        sweep: of a thread.
        work: of a thread, nest by nest.
        threads: how many share it.
        turn: how many rows the nests of tiles walk at a time.

    """

    node: Node
    sweep: Sweep
    work: tuple[Work, ...]
    threads: int
    turn: int = 1


# Leaves by their node and the buffers that its nests access.
LeavesOf: TypeAlias = dict[tuple[Node, tuple[Buffer, ...]], Leaf]


def cpu_leaves(
    kernel: Kernel, sizes: Sizes, parallel_from: int, known: LeavesOf | None = None
) -> list[Leaf]:
    """Return what a call runs, in order; loops over fewer points run on one thread.

    Leaves that are `known` are taken from there, and new ones are added.
    """
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    maker = _Leaves(buffers, sizes, parallel_from, {} if known is None else known)
    return [
        reduce(maker.repeated, reversed(around), maker.remembered(node))
        for step in kernel.steps
        for node, around in ran(step.body, sizes, (Nest, Tiles, Portions))
    ]


@classes.frozen
class _Leaves:
    buffers: Mapping[str, Buffer]
    sizes: Sizes
    parallel_from: int
    known: LeavesOf

    def remembered(self, node: Node) -> Leaf:
        """Return what a nest or group runs."""
        rows = (row for nest in nests_of(node) for row in nest.body)
        names = dict.fromkeys(row.buffer for row in rows if isinstance(row, Access))
        key = node, tuple(self.buffers[name] for name in names)
        found = self.known.get(key)
        if found is None:
            make: Any = {Nest: self._nest, Tiles: self._tiles, Portions: self._portions}
            found = self.known[key] = make[type(node)](node)
        return found

    def repeated(self, leaf: Leaf, range_: Range) -> Leaf:
        """Return what runs for each index of a range."""
        count = self.sizes.extent(range_)
        sweep = Sweep(range_.dim, count, (leaf.sweep,))
        return classes.evolve(leaf, sweep=sweep, work=_times(leaf.work, count))

    def _threads(self, points: float, shared: float) -> int:
        return int(min(self.sizes.threads, max(shared, 1))) if points >= self.parallel_from else 1

    def _nest(self, nest: Nest) -> Leaf:
        loops = self._loops(nest)
        shares = [n for n, loop in enumerate(nest.loops[:-1]) if loop.kind == "parallel"]
        if len(nest.loops) == 1 and nest.loops[0].kind != "sequential":
            shares = [0]
        points = prod(count * step for _, count, step in loops)
        threads = self._threads(points, prod(loops[n][1] for n in shares))
        left = float(threads)
        for n in shares:  # the outer loop first
            dim, count, step = loops[n]
            part = min(left, max(count, 1.0))
            loops[n], left = (dim, count / part, step), left / part
        work = (_work(nest, loops),)
        march = marks_of(nest).march
        if march and len(loops) > 2:
            _, (dim, rows, step), (_, row, _) = loops[0], loops[1], loops[-1]
            high = min(max(march / step // max(row, 1), FEWEST), max(rows, 1))
            outer = (dim, rows / high, high * step)
            loops = [outer, loops[0], (dim, high, step), *loops[2:]]
        return Leaf(nest, in_loops(self._body(nest), loops), work, threads)

    def _loops(self, nest: Nest) -> list[Counted]:
        return [
            (loop.range.dim, -(-self.sizes.extent(loop.range) // loop.step), float(loop.step))
            for loop in nest.loops
        ]

    def _tiles(self, tiles: Tiles) -> Leaf:
        extents = {cut.range.dim: self.sizes.extent(cut.range) for cut in tiles.cuts}
        rows = [self._loops(member.nest) for member in tiles.members]
        inside = prod(n for dim, n, _ in rows[-1] if dim not in extents)
        threads = self._threads(inside * prod(extents.values()), self.sizes.threads)
        heights = self._heights(tiles, extents, threads)
        counts = {dim: max(1.0, extents[dim] / heights[dim]) for dim in heights}
        whole = prod(map(ceil, counts.values()))
        threads = min(threads, whole)
        alone = ceil(whole / threads) * prod(counts.values()) / whole  # tiles of one thread
        parts: list[Sweep] = []
        work: list[Work] = []
        for member, own in zip(tiles.members, rows, strict=True):
            margins = dict(zip(heights, map(sum, member.margins), strict=True))
            loops = [
                (dim, (heights[dim] + margins[dim]) / step if dim in heights else count, step)
                for dim, count, step in own
            ]
            work += _times([_work(member.nest, loops)], alone)
            body = self._body(member.nest)
            parts.append(in_loops(body, [each for each in loops if each[0] is not tiles.rolled]))
        inner: tuple[Sweep, ...] = tuple(parts)
        turn = 1
        if tiles.rolled is not None:
            inner = (Sweep(tiles.rolled, heights[tiles.rolled], inner),)
            row = inside * prod(heights.values()) / heights[tiles.rolled]
            turn = tiles.rows_in_turn(self.buffers.values(), row)
        share = prod(counts.values()) / alone
        for dim, count in reversed(counts.items()):
            left = max(1.0, count / share)
            inner, share = (Sweep(dim, left, inner, heights[dim]),), share / (count / left)
        return Leaf(tiles, inner[0], tuple(work), threads, turn)

    def _heights(
        self, tiles: Tiles, extents: Mapping[Dimension, int], threads: int
    ) -> dict[Dimension, float]:
        """Return the extents of a tile: as many equal ones as threads have work, as calls do it."""
        found = {}
        for cut in tiles.cuts:
            dim, extent = cut.range.dim, max(extents[cut.range.dim], 1)
            others = prod(-(-extents[c.range.dim] // c.size) for c in tiles.cuts if c is not cut)
            part = extent
            if cut.even:
                part = max(-(-extent // -(-threads // max(others, 1))), tiles.fewest)
            found[dim] = float(min(extent, -(-part // -(-part // cut.size))))
        return found

    def _body(self, nest: Nest) -> Body:
        return touches_of(nest, self.buffers, self.sizes)

    def _portions(self, portions: Portions) -> Leaf:
        size, levels = max(portions.order.portion, 1), self.sizes.value(portions.levels)
        extent = max(self.sizes.value(portions.extent), 1)
        count = max(extent / size, 1.0)
        threads = self._threads(extent * levels, extent / portions.order.size)
        rim = 1 + RIM / max(portions.order.size, 1) ** 0.5
        kept = KEPT * ITEM * size * max(levels, 1)  # bytes of an array
        parts: list[Sweep] = []
        work: list[Work] = []
        for each in portions.loops:
            (dim, rows, step), *rest = self._loops(each.nest)
            loops = [(dim, max(rows * rim / count, 1.0), step), *rest]
            work += _times([_work(each.nest, loops)], count / threads)
            body = tuple(
                classes.evolve(touch, bytes=kept) if touch.buffer in portions.arrays else touch
                for touch in self._body(each.nest)
            )
            parts.append(in_loops(body, loops))
        # each list has its own dimension, which goes on from portion to portion
        return Leaf(portions, Sweep(None, count / threads, tuple(parts)), tuple(work), threads)


def _work(nest: Nest, loops: list[Counted]) -> Work:
    times = accumulate((count for _, count, _ in loops), mul, initial=1.0)
    return Work(nest, tuple(times), loops[-1][1] if loops else 1.0)


def _times(work: tuple[Work, ...] | list[Work], count: float) -> tuple[Work, ...]:
    """Return work that is done so many times."""
    return tuple(classes.evolve(each, times=tuple(count * n for n in each.times)) for each in work)
