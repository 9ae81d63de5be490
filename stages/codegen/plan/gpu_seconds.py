"""The seconds of a tree on a class of GPUs: the formula of bytes, operations, occupancy, lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import ceil, prod
from typing import Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    ITEMSIZES,
    Access,
    Compute,
    Index,
    Instruction,
    Kernel,
    Load,
    Store,
    with_operands,
)
from ...ir.loops.gpu import marks_of
from ..schedule.costs import operations
from .gpu_sweeps import Kernels, Part, gpu_kernels, of_block, of_grid
from .machine import GpuClass
from .sizes import Sizes
from .traffic import Traffic

ENOUGH: Final = 0.5  # of all threads: more hide nothing more
SECTOR: Final = 32
WARP: Final = 32
SPILL: Final = 8  # bytes that a register in memory takes, there and back
TURN: Final = 30  # instructions of a thread beside its rows


@classes.frozen
class Work:
    """Operations, instructions, and bytes of loads and stores of all threads for a nest.

    Operations are those of float64; others are half of one.
    """

    operations: float
    instructions: float
    bytes: float


@classes.frozen
class GpuFacts:
    """What a kernel does, whatever its costs are.

    Attributes:
        kernel: its nests, threads and blocks.
        bytes: through each link, and of all accesses.
        operations: of all threads, as in `Work`.
        instructions: the same.
        steps: instructions of one thread after the other.
        waits: loads of one thread that nothing else of it hides, of one thread after the other.
        occupancy: threads that run at a time, of those that hide all there is to hide.
        lanes: which part of them works.

    """

    kernel: Kernels
    bytes: Mapping[str, float]
    operations: float
    instructions: float
    steps: float
    waits: float
    occupancy: float
    lanes: float

    def parts(self, machine: GpuClass) -> dict[str, float]:
        """Return seconds by what they are for."""
        return {
            "memory": self.bytes["memory"] / machine.memory.one,
            "second": self.bytes["second"] / machine.l2.one,
            "first": self.bytes["first"] / machine.l1,
            "operations": self.operations / machine.issue,
            "instructions": self.instructions / machine.words,
            "thread": self.steps * machine.step + self.waits * machine.wait,
        }

    def seconds(self, machine: GpuClass) -> float:
        """Return the seconds: what all threads move and compute, or what one takes alone."""
        parts = self.parts(machine)
        alone = parts.pop("thread")
        few = 1 + machine.idle * (1 - self.occupancy)
        idle = 1 + machine.ends * (1 - self.lanes)
        together = machine.base * few * idle * _mean(parts.values(), machine.overlap)
        seconds = _mean((together, alone), machine.overlap)
        return self.kernel.count * (machine.launch + seconds)


@classes.frozen
class GpuModel:
    """The seconds of calls of some sizes on a class of GPUs."""

    sizes: Sizes
    machine: GpuClass

    def facts(self, kernel: Kernel) -> list[GpuFacts]:
        """Return what each kernel does in calls that follow one another."""
        kernels = gpu_kernels(kernel, self.sizes)
        resident = [each.resident(self.machine) for each in kernels]
        sweeps = [
            of_grid(each, threads * self.machine.multiprocessors)
            for each, threads in zip(kernels, resident, strict=True)
        ]
        far = Traffic(self.sizes, self.machine.memory.capacity, self.machine.memory.line).in_turn(
            sweeps
        )
        return [
            _facts(each, sum(bytes_.values()), threads, self.sizes, self.machine)
            for each, bytes_, threads in zip(kernels, far, resident, strict=True)
        ]

    def seconds(self, kernel: Kernel) -> float:
        """Return the seconds of a call; one that computes nothing takes a launch all the same."""
        found = sum(each.seconds(self.machine) for each in self.facts(kernel))
        return max(found, self.machine.launch)


def _mean(seconds: Iterable[float], power: float) -> float:
    """Return the longest of some times, a little more where others are as long."""
    return float(pow(sum(pow(each, power) for each in seconds), 1 / power))


def _facts(
    kernel: Kernels, memory: float, resident: float, sizes: Sizes, machine: GpuClass
) -> GpuFacts:
    near = Traffic(sizes, machine.l2.capacity / max(1.0, resident / kernel.threads), SECTOR)
    spilled = _spilled(kernel, machine) * SPILL * kernel.blocks * kernel.threads
    work = [_work(part) for part in kernel.parts]
    alone = [_alone(part) for part in kernel.parts]
    waves = ceil(kernel.blocks * kernel.threads / (machine.multiprocessors * max(resident, 1)))
    return GpuFacts(
        kernel,
        {
            "memory": memory,
            "second": sum(_through_l2(kernel, part, near) for part in kernel.parts) + spilled / 2,
            "first": sum(each.bytes for each in work) + spilled,
        },
        operations=sum(each.operations for each in work),
        instructions=sum(each.instructions for each in work),
        steps=waves * sum(steps for steps, _ in alone),
        waits=waves * sum(waits for _, waits in alone),
        occupancy=min(1.0, resident / machine.threads / ENOUGH),
        lanes=min(map(_lanes, kernel.parts)),
    )


def _alone(part: Part) -> tuple[float, float]:
    """Return the instructions that a thread runs in order, and how often it waits for loads."""
    nest, depth = part.nest, len(part.nest.loops)
    walked = prod(count for _, count, _ in part.walks)
    inner = [row for row in nest.body if row.level == depth]
    steps = sum(operations(row.op) if isinstance(row, Compute) else 1 for row in inner)
    waits = walked / (1 + marks_of(nest).ahead) if any(isinstance(r, Load) for r in inner) else 0.0
    return (TURN + walked * steps) * part.each**0.5, 1 + waits


def _through_l2(kernel: Kernels, part: Part, near: Traffic) -> float:
    """Return the bytes of all blocks: each fetches what its threads touch."""
    # a part of a block counts as a part
    blocks = max(1.0, prod(n / min(n, t * p) for _, n, t, p in part.sides if n))
    return sum(near.through(of_block(kernel, part)).values()) * blocks


def _work(part: Part) -> Work:
    """Return what all threads do; what several points of a thread share is done once."""
    nest, depth = part.nest, len(part.nest.loops)
    apart = {
        touch.buffer
        for touch in part.body
        if part.sides and part.sides[0][0] in touch.dims and touch.unit is not part.sides[0][0]
    }
    computed, instructions, bytes_ = 0.0, float(TURN), 0.0
    for row, copies in zip(nest.body, _copies(part), strict=True):
        instructions += copies * (2 if isinstance(row, Store) else 1)
        if isinstance(row, Compute):
            computed += operations(row.op) * copies * (1.0 if row.dtype == "float64" else 0.5)
        elif isinstance(row, Access) and row.level == depth:
            bytes_ += copies * (SECTOR / 2 if row.buffer in apart else ITEMSIZES[row.dtype])
    threads = part.points / part.each
    return Work(threads * computed, threads * instructions, threads * bytes_)


def _copies(part: Part) -> list[int]:
    """Return how many different values a thread computes for each row, for all its points."""
    known: dict[object, int] = {}
    found = [0] * len(part.nest.body)
    dims = [dim for dim, _, _, points in part.sides if points > 1]
    for steps in product(*(range(int(points)) for *_, points in part.sides if points > 1)):
        shift = dict(zip(dims, steps, strict=True))
        values: list[int] = []
        for number, row in enumerate(part.nest.body):
            key = _key(number, row, values, shift)
            found[number] += key not in known
            values.append(known.setdefault(key, len(known)))
    return found


def _key(
    number: int, row: Instruction, values: Sequence[int], shift: Mapping[Dimension, int]
) -> object:
    """Return what equal values of a thread's points have in common."""
    match row:
        case Index(dim=dim):
            return row, shift.get(dim, 0)
        case Load():
            moved = tuple(
                offset if told is not None else offset + shift.get(dim, 0)
                for dim, told, offset in row.places
            )
            return with_operands(classes.evolve(row, offsets=moved), values.__getitem__)
        case Compute():
            return with_operands(row, values.__getitem__)
        case Store():
            return number, tuple(shift.values())
    return row


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
    if points > 1 and not marks_of(part.nest).masked and extent % points:  # ends run one by one
        used *= 0.75
    return max(used, 1 / WARP)
