"""The sweeps of a tree of loops for a GPU: one of the whole grid, and one of a block."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Any

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import Buffer, Each, Kernel, Nest, nodes_of
from ...ir.loops.gpu import Columns, KernelGroup, Patches, marks_of
from .machine import GpuClass
from .registers import registers
from .sizes import RIM, Sizes
from .sweeps import Body, Sweep, in_loops, ran, touches_of


@classes.frozen
class Part:
    """A nest of a kernel: its threads along each axis, inner to outer, and what they walk alone.

    Attributes:
        nest: the nest.
        body: what an iteration touches in memory.
        sides: of the `thread` loops, inner to outer: dimension, extent, threads, points.
        walks: other loops, each with its count.
        elements: how many points there are for each point of the grid; more than 1 in patches.

    """

    nest: Nest
    body: Body
    sides: tuple[tuple[Dimension, float, float, float], ...]
    walks: tuple[tuple[Dimension, float, float], ...]
    elements: float = 1.0

    @property
    def points(self) -> float:
        """The points of the grid, those that a thread walks too."""
        walked = prod(count for _, count, _ in self.walks)
        return walked * self.elements * prod(extent for _, extent, _, _ in self.sides)

    @property
    def each(self) -> float:
        """The points that a thread computes together."""
        return prod(points for *_, points in self.sides)


@classes.frozen
class Kernels:
    """One kernel: its parts in order, its blocks, and what limits how many run at a time.

    Attributes:
        parts: the nests.
        blocks: how many.
        threads: of a block.
        shared: bytes of a block.
        asked: blocks on a multiprocessor that registers are left for; 1 where nobody asked.
        near: names of arrays in shared memory.
        count: how often it runs.

    """

    parts: tuple[Part, ...]
    blocks: float
    threads: int
    shared: float = 0.0
    asked: int = 1
    near: tuple[str, ...] = ()
    count: float = 1.0

    def needed(self) -> int:
        """Return about how many registers a thread takes if nothing limits them."""
        return max(registers(part.nest, int(part.each)) for part in self.parts)

    def resident(self, machine: GpuClass) -> float:
        """Return how many threads of it a multiprocessor has at a time."""
        limit = machine.registers / (self.asked * self.threads)
        kept = max(32.0, min(float(self.needed()), limit if self.asked > 1 else 255.0, 255.0))
        room = machine.registers / (kept * self.threads)
        if self.shared:
            room = min(room, 227 * 1024 / self.shared)
        room = max(1.0, min(room, machine.threads / self.threads, 32.0))
        return min(int(room), max(1.0, self.blocks / machine.multiprocessors)) * self.threads


def gpu_kernels(kernel: Kernel, sizes: Sizes) -> list[Kernels]:
    """Return the kernels that a call launches, in order."""
    maker = _Kernels({buffer.name: buffer for buffer in kernel.buffers}, sizes)
    make: Any = {Nest: maker.of_nest, Columns: maker.of_columns, Patches: maker.of_patches}
    return [
        classes.evolve(make[type(node)](node), count=float(prod(map(sizes.extent, around))))
        for step in kernel.steps
        for node, around in ran(step.body, sizes, (Nest, KernelGroup))
    ]


def of_grid(kernel: Kernels, resident: float) -> Sweep:
    """Return what all threads touch; those that walk do so at a time, `resident` of them."""
    parts = []
    for part in kernel.parts:
        loops = [(dim, extent, 1.0) for dim, extent, _, _ in reversed(part.sides)]
        if part.walks and loops:
            columns = prod(extent for _, extent, _ in loops)
            dim, extent, _ = loops[0]
            waves = max(1.0, min(columns / max(resident, 1), extent))
            loops = [(dim, waves, extent / waves), *part.walks, (dim, extent / waves, 1.0),
                     *loops[1:]]  # fmt: skip
        else:
            loops = [*part.walks, *loops]
        parts.append(in_loops(_far(part.body, kernel.near), loops))
    return parts[0] if len(parts) == 1 else Sweep(None, 1, tuple(parts))


def of_block(kernel: Kernels, part: Part) -> Sweep:
    """Return what the threads of a block touch in memory, for one nest."""
    sides = (
        (dim, min(extent, threads * points) * part.elements**0.5, 1.0)
        for dim, extent, threads, points in reversed(part.sides)
    )
    return in_loops(_far(part.body, kernel.near), (*part.walks, *sides))


def _far(body: Body, near: tuple[str, ...]) -> Body:
    return tuple(touch for touch in body if touch.buffer not in near)


@classes.frozen
class _Kernels:
    buffers: Mapping[str, Buffer]
    sizes: Sizes

    def of_nest(self, nest: Nest) -> Kernels:
        """Return the kernel of a nest."""
        part = self._part(nest)
        if not part.sides:
            return Kernels((part,), 1, 1)
        blocks = prod(max(1, ceil(n / (t * p))) for _, n, t, p in part.sides)
        threads = int(prod(t for _, _, t, _ in part.sides))
        return Kernels((part,), blocks, max(threads, 1), asked=marks_of(nest).blocks)

    def _part(self, nest: Nest) -> Part:
        marks = marks_of(nest)
        loops = [(loop, self.sizes.extent(loop.range)) for loop in nest.loops]
        free = [pair for pair in reversed(loops) if pair[0].kind == "thread"]
        points = (*marks.points, *(1,) * len(free))
        block: tuple[float, ...] = (*marks.block, *(1,) * len(free))
        if len(marks.block) == 1 < len(free):  # all loops are counted in one row
            rows, left = [], float(marks.block[0])
            for (_, extent), own in zip(free, points, strict=False):
                rows.append(min(left, max(1.0, extent / own)))
                left /= rows[-1]
            block = tuple(rows)
        sides = tuple(
            (loop.range.dim, float(extent), float(threads), float(own))
            for (loop, extent), threads, own in zip(free, block, points, strict=False)
        )
        walks = tuple(
            (loop.range.dim, float(extent), 1.0) for loop, extent in loops if loop.kind != "thread"
        )
        return Part(nest, touches_of(nest, self.buffers, self.sizes), sides, walks)

    def of_columns(self, columns: Columns) -> Kernels:
        """Return the kernel of scans over the same columns."""
        parts = [self._part(nest) for nest in columns.scans]
        total = prod(extent for _, extent, _, _ in parts[0].sides)
        shared = min(max(self.sizes.value(columns.needed), 0), columns.most)
        return Kernels(
            tuple(parts), ceil(total / columns.columns), columns.columns, shared,
            max(columns.blocks, 1), columns.arrays,
        )  # fmt: skip

    def of_patches(self, patches: Patches) -> Kernels:
        """Return the kernel of nests in patches."""
        size = patches.order.size
        last = [each.nest for each in nodes_of(patches, Each)][-1]
        elements = max(self.sizes.extent(last.loops[0].range), 1)
        count = max(1, -(-elements // size))
        levels = max(self.sizes.extent(last.loops[-1].range), 1)
        pieces = -(-levels // patches.levels)
        parts = []
        for each in dict.fromkeys(nodes_of(patches, Each)):
            part = self._part(each.nest)
            own = max(part.sides[-1][1], 1.0) / count
            rim = 1 + RIM / max(own, 1) ** 0.5 if each.nest is not last else 1.0
            sides = (
                (part.sides[0][0], float(levels), float(patches.levels / patches.points),
                 float(patches.points)),
                (part.sides[-1][0], part.sides[-1][1], own, 1.0),
            )  # fmt: skip
            parts.append(classes.evolve(part, sides=sides, elements=rim))
        kept = sum(member.row_bytes for member in patches.order.members)
        return Kernels(
            tuple(parts), count * pieces, patches.threads, kept * size * 0.6, patches.blocks,
            patches.arrays,
        )  # fmt: skip
