"""The seconds of a tree on a class of CPUs: memory, operations, rows, threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ....runtime.process import classes
from ...ir.loops.cpu import LINE, Tiles, marks_of
from ...ir.loops.kernel import Kernel, Node
from ...ir.loops.nest import Compute, Load, Nest, Store
from ...ir.loops.traverse import nests_of
from ..schedule.costs import ITEMSIZES, row_cost
from .cpu_sweeps import Leaf, Work, cpu_leaves
from .machine import CpuClass
from .registers import OTHERS, registers
from .sizes import Sizes
from .sweeps import bodies
from .traffic import Bytes, Traffic, moved

CACHE_OF_A_THREAD: Final = 3 << 19  # bytes for each thread that stay in the caches of all
ALONE: Final = ("rows", "addresses", "prefetches", "streams", "rings")


@classes.frozen
class CpuFacts:
    """What a part of a tree does, whatever its costs are.

    Attributes:
        node: the nest or group.
        threads: how many share it.
        bytes: of all threads, by link.
        amounts: of a thread, by kind.

    """

    node: Node
    threads: int
    bytes: Mapping[str, float]
    amounts: Mapping[str, float]

    def parts(self, machine: CpuClass) -> dict[str, float]:
        """Return seconds by what they are for: links by name, and amounts."""
        parts = {
            link.name: self.bytes[link.name] / link.rate(self.threads) for link in machine.links
        }
        return parts | {name: n * machine.costs[name] for name, n in self.amounts.items()}

    def seconds(self, machine: CpuClass) -> float:
        """Return the seconds of the part.

        Rows begin when the one before has ended; the rest goes on at the same time.
        """
        parts = self.parts(machine)
        alone = sum(parts.pop(name) for name in ALONE)
        beside = sum(pow(each, machine.overlap) for each in parts.values())
        return (
            alone + float(pow(beside, 1 / machine.overlap)) + machine.barrier * (self.threads > 1)
        )


def cpu_facts(kernel: Kernel, sizes: Sizes, machine: CpuClass) -> list[CpuFacts]:
    """Return what each part of a tree does in calls that follow one another."""
    leaves = cpu_leaves(kernel, sizes, machine.parallel_from)
    sweeps = [leaf.sweep for leaf in leaves]
    most = max((leaf.threads for leaf in leaves), default=1)
    past = _past(leaves, sizes, machine)
    bytes_: list[dict[str, float]] = [{} for _ in leaves]
    waits = [0.0] * len(leaves)
    for link in machine.links:
        fetched = Traffic(sizes, link.share(most), link.line).in_turn(sweeps)
        is_last = link is machine.links[-1]
        for place, leaf in enumerate(leaves):
            own = moved(fetched[place], past[place], is_last=is_last)
            bytes_[place][link.name] = leaf.threads * own
            if link is not machine.links[0]:
                waits[place] += _waits(leaf, fetched[place]) / link.line
    return [
        CpuFacts(leaf.node, leaf.threads, own, amounts(leaf, machine) | {"waits": lines})
        for leaf, own, lines in zip(leaves, bytes_, waits, strict=True)
    ]


def _past(leaves: Sequence[Leaf], sizes: Sizes, machine: CpuClass) -> list[dict[str, float]]:
    """Return for each leaf the bytes of the fields that it writes past the caches."""
    whole = Traffic(sizes, 1, machine.links[0].line)
    touched = [whole.footprint(leaf.sweep) for leaf in leaves]
    pairs = list(zip(leaves, touched, strict=True))
    most = max((leaf.threads for leaf in leaves), default=1)
    usual = max(machine.stream_from, most * CACHE_OF_A_THREAD)
    least = usual if sizes.stream_from is None else sizes.stream_from
    if sum(leaf.threads * sum(own.values()) for leaf, own in pairs) < least:
        return [{} for _ in leaves]
    streams = [
        {name for nest in nests_of(leaf.node) for name in marks_of(nest).streams} for leaf in leaves
    ]
    return [
        {name: n for (name, stores), n in own.items() if stores and name in names}
        for own, names in zip(touched, streams, strict=True)
    ]


def _waits(leaf: Leaf, fetched: Bytes) -> float:
    """Return the bytes that no prefetch asks for, where tables tell the rows."""
    if any(marks_of(nest).asked for nest in nests_of(leaf.node)):
        return 0.0
    told = {touch.buffer for body, _ in bodies(leaf.sweep) for touch in body if touch.is_told}
    return sum(bytes_ for (name, _), bytes_ in fetched.items() if name in told)


def amounts(leaf: Leaf, machine: CpuClass) -> dict[str, float]:
    """Return what a thread does, by kind: each has its cost.

    operations   of a vector register, in units of an addition
    loads        and stores of a vector register, those that spill registers too
    gathers      elements that lanes load one by one
    rows         walks along an innermost loop, with its addresses
    addresses    of these rows
    prefetches   lines
    streams      rows that are written past the caches
    rings        rows of arrays whose rows take turns
    waits        lines from beyond the second cache that tables tell and nothing prefetches
    """
    found = dict.fromkeys(machine.costs, 0.0)
    for work in leaf.work:
        for name, amount in _amounts(work, machine):
            found[name] += amount
    if isinstance(leaf.node, Tiles) and leaf.node.rolled is not None:
        found["rings"] += sum(work.times[-2] for work in leaf.work)
    return found


def _amounts(work: Work, machine: CpuClass) -> Iterator[tuple[str, float]]:
    nest, depth = work.nest, len(work.nest.loops)
    marks = marks_of(nest)
    is_vector = depth > 0 and nest.loops[-1].kind == "vector"
    slid = {row for row, _, _ in marks.slides}
    outer = work.times[-2] if depth else 1.0
    strips, widest = 0.0, 1
    for number, row in enumerate(nest.body):
        is_inner = row.level == depth and depth > 0
        times = work.times[row.level]
        if is_inner and is_vector:
            lanes = max(machine.lanes // ITEMSIZES[row.dtype], 1)
            times = outer * max(1.0, -(-work.row // lanes))
            strips, widest = max(strips, times), max(widest, ITEMSIZES[row.dtype])
        if number in slid:
            continue
        if isinstance(row, Compute):
            yield "operations", times * row_cost(row)
        elif isinstance(row, Load | Store):
            if is_inner and is_vector and _is_apart(nest, row):
                yield "gathers", work.times[-1]
            else:
                yield "loads", times
            yield "addresses", outer * is_inner
    yield "rows", outer
    yield "prefetches", outer * len(marks.asked) * max(1.0, work.row * widest / LINE)
    yield "streams", outer * len(marks.streams)
    # a register of the estimate has 4 bytes
    values = (registers(nest, 1) - OTHERS) * 4 / widest if is_vector else 0.0
    yield "loads", 2 * strips * max(0.0, values - machine.registers)


def _is_apart(nest: Nest, row: Load | Store) -> bool:
    """Tell whether a value of the innermost loop tells where the lanes of an access lie."""
    return any(each is not None and nest.body[each].level == len(nest.loops) for each in row.rows)
