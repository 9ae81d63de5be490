"""The seconds of a tree on a class of GPUs: the formula of bytes, operations, occupancy, lanes."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, prod
from typing import Final

from ....runtime.process import classes
from ...ir.loops.gpu import marks_of
from ...ir.loops.kernel import Kernel
from ...ir.loops.nest import Compute, Store
from ..schedule.costs import operations
from .gpu_sweeps import Kernels, Part, gpu_kernels, of_block, of_grid
from .machine import GpuClass
from .sizes import Sizes
from .sweeps import Touch
from .traffic import Bytes, Traffic

ENOUGH: Final = 0.5  # of all threads: more hide nothing more
SECTOR: Final = 32
WARP: Final = 32
SPILL: Final = 8  # bytes that a register in memory takes, there and back
TURN: Final = 30  # instructions of a thread beside its rows


@classes.frozen
class GpuFacts:
    """What a kernel does, whatever its costs are.

    Attributes:
        kernel: its nests, threads and blocks.
        bytes: through each link, and of all accesses.
        operations: of float64; those of float32 are half of one.
        instructions: of all threads.
        occupancy: threads that run at a time, of those that hide all there is to hide.
        lanes: which part of them works.
        waves: how much longer the last blocks take.

    """

    kernel: Kernels
    bytes: Mapping[str, float]
    operations: float
    instructions: float
    occupancy: float
    lanes: float
    waves: float

    def parts(self, machine: GpuClass) -> dict[str, float]:
        """Return seconds by what they are for."""
        return {
            "memory": self.bytes["memory"] / machine.memory.one,
            "second": self.bytes["second"] / machine.l2.one,
            "first": self.bytes["first"] / machine.l1,
            "operations": self.operations / machine.issue,
            "instructions": self.instructions / machine.words,
        }

    def seconds(self, machine: GpuClass) -> float:
        """Return the seconds of the kernel: the formula of the module."""
        slowest = machine.base * max(self.parts(machine).values())
        few = 1 + machine.idle * (1 - self.occupancy)
        idle = 1 + machine.ends * (1 - self.lanes)
        return self.kernel.count * (machine.launch + slowest * few * idle * self.waves)


def gpu_facts(kernel: Kernel, sizes: Sizes, machine: GpuClass) -> list[GpuFacts]:
    """Return what each kernel does in calls that follow one another."""
    kernels = gpu_kernels(kernel, sizes)
    resident = [each.resident(machine) for each in kernels]
    sweeps = [
        of_grid(each, threads * machine.multiprocessors)
        for each, threads in zip(kernels, resident, strict=True)
    ]
    far = Traffic(sizes, machine.memory.capacity, machine.memory.line).in_turn(sweeps)
    return [
        _facts(each, sum(bytes_.values()), threads, sizes, machine)
        for each, bytes_, threads in zip(kernels, far, resident, strict=True)
    ]


def _facts(
    kernel: Kernels, memory: float, resident: float, sizes: Sizes, machine: GpuClass
) -> GpuFacts:
    near = Traffic(sizes, machine.l2.capacity / max(1.0, resident / kernel.threads), SECTOR)
    spilled = _spilled(kernel, machine) * SPILL * kernel.blocks * kernel.threads
    operations = [_operations(part) for part in kernel.parts]
    return GpuFacts(
        kernel,
        {
            "memory": memory,
            "second": sum(_through_l2(kernel, part, near) for part in kernel.parts) + spilled / 2,
            "first": sum(_accessed(part) for part in kernel.parts) + spilled,
        },
        operations=sum(each for each, _ in operations),
        instructions=sum(each for _, each in operations),
        occupancy=min(1.0, resident / machine.threads / ENOUGH),
        lanes=min(map(_lanes, kernel.parts)),
        waves=_waves(kernel, resident, machine),
    )


def _waves(kernel: Kernels, resident: float, machine: GpuClass) -> float:
    """Return how much longer all multiprocessors take than they work: few blocks fill no wave."""
    waves = kernel.blocks * kernel.threads / (machine.multiprocessors * max(resident, 1))
    return ceil(waves) / waves if 1 < waves < 4 else max(1.0, 1 / max(waves, 0.05) ** 0.5)


def _through_l2(kernel: Kernels, part: Part, near: Traffic) -> float:
    """Return the bytes of all blocks: each fetches what its threads touch."""
    block = near.through(of_block(kernel, part))
    return _sum(block) * _blocks(part)


def _blocks(part: Part) -> float:
    """Return how many blocks there are; a part of one counts as a part."""
    return max(1.0, prod(n / min(n, t * p) for _, n, t, p in part.sides if n))


def _sum(bytes_: Bytes) -> float:
    return sum(bytes_.values())


def _accessed(part: Part) -> float:
    """Return the bytes that threads load and store, what a thread's points share once."""
    inner = part.sides[0][0] if part.sides else None
    threads = part.points / part.each
    total = 0.0
    for touch in part.body:
        apart = touch.unit is not inner and inner in touch.dims
        total += _distinct(touch, part) * (SECTOR / 2 if apart else touch.item)
    return threads * total


def _distinct(touch: Touch, part: Part) -> float:
    """Return how many elements of a buffer the points of a thread touch."""
    moved = {dim: int(points) for dim, _, _, points in part.sides if points > 1}
    own = {dim: n for dim, n in moved.items() if dim in touch.dims}
    if not own:
        return len(touch.places)
    found = set()
    for place in touch.places:
        places = [place]
        for axis, dim in enumerate(touch.dims):
            if dim in own and isinstance(place[axis], int):
                places = [
                    (*each[:axis], each[axis] + n, *each[axis + 1 :])  # type: ignore[operator]
                    for each in places
                    for n in range(own[dim])
                ]
        found |= set(places)
    return len(found)


def _operations(part: Part) -> tuple[float, float]:
    """Return the operations, of float64 or half of one, and the instructions of all threads."""
    nest, depth = part.nest, len(part.nest.loops)
    computed, instructions = 0.0, TURN / part.each
    for row in nest.body:
        share = 1.0 if row.level == depth else 1 / part.each
        if isinstance(row, Compute):
            computed += operations(row.op) * share * (1.0 if row.dtype == "float64" else 0.5)
        instructions += share * (2 if isinstance(row, Store) else 1)
    return part.points * computed, part.points * instructions


def _spilled(kernel: Kernels, machine: GpuClass) -> float:
    """Return the registers that a thread lacks."""
    limit = machine.registers / (kernel.asked * kernel.threads) if kernel.asked > 1 else 255.0
    return max(0.0, kernel.needed() - min(limit, 255.0))


def _lanes(part: Part) -> float:
    """Return which part of the lanes works: ends of rows leave some idle, and run twice."""
    if not part.sides:
        return 1.0
    _, extent, threads, points = part.sides[0]
    flat = len(marks_of(part.nest).block) == 1 < len(part.sides)
    if flat or extent <= 0:
        pieces = ceil(extent / points) * points
    else:
        pieces = ceil(extent / (threads * points)) * threads * points
    used = extent / max(pieces, 1)
    ends_alone = points > 1 and not marks_of(part.nest).masked and extent % points
    if ends_alone:
        used *= 0.75
    return max(used, 1 / WARP)
