"""The seconds of a tree on a class of CPUs: memory, operations, rows, threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from ....runtime.process import classes
from ...ir.loops import Kernel, Tiles, marks_of, nests_of
from .cpu_amounts import amounts
from .cpu_sweeps import Leaf, LeavesOf, cpu_leaves
from .machine import CpuClass
from .sizes import Sizes
from .sweeps import bodies
from .traffic import Bytes, Footprints, Key, Traffic

CACHE_OF_A_THREAD: Final = 3 << 19  # bytes for each thread that stay in the caches of all
ALONE: Final = ("rows", "addresses", "prefetches", "streams", "rings", "jumps", "waits")
SHORT: Final = 5  # lines of a row that a table tells, up to which loads do not wait for it
TEST: Final = 0.5  # of a prefetch's time: whether to, and its address, in calls that do without
WRITTEN: Final = "written"  # what leaves the last cache


@classes.frozen
class CpuFacts:
    """What a nest of a tree does, whatever its costs are.

    Attributes:
        threads: how many share it.
        bytes: of all threads, by link; those that leave the last cache are `written`.
        amounts: of a thread, by kind.
        barriers: how often its threads wait for one another.

    """

    threads: int
    bytes: Mapping[str, float]
    amounts: Mapping[str, float]
    barriers: int = 0

    def parts(self, machine: CpuClass) -> dict[str, float]:
        """Return seconds by what they are for: links by name, and amounts."""
        parts = {
            link.name: self.bytes[link.name] / link.rate(self.threads) for link in machine.links
        }
        last = machine.links[-1]
        parts[WRITTEN] = self.bytes.get(WRITTEN, 0.0) / last.rate(self.threads)
        if not last.is_duplex(self.threads):
            parts[last.name] += parts.pop(WRITTEN)
        return parts | {name: n * machine.costs[name] for name, n in self.amounts.items()}

    def seconds(self, machine: CpuClass) -> float:
        """Return the seconds of the nest.

        Rows begin when the one before has ended; the rest goes on at the same time.
        """
        parts = self.parts(machine)
        alone = sum(parts.pop(name) for name in ALONE)
        beside = sum(pow(each, machine.overlap) for each in parts.values())
        return alone + float(pow(beside, 1 / machine.overlap)) + machine.barrier * self.barriers


class CpuModel:
    """Facts of trees for the same call and machine; a part that was seen before is only looked up.

    So a plan with one decision changed costs little more than the parts that differ.
    """

    def __init__(self, sizes: Sizes, machine: CpuClass) -> None:
        self.sizes = sizes
        self.machine = machine
        self._leaves: LeavesOf = {}
        self._parts = cache(lambda leaf: list(_parts(leaf, machine)))
        known: dict[int, Footprints] = {}  # by line
        self._through = cache(lambda n, line: Traffic(sizes, n, line, known.setdefault(line, {})))

    def facts(self, kernel: Kernel) -> list[CpuFacts]:
        """Return what each nest of a tree does."""
        leaves = cpu_leaves(kernel, self.sizes, self.machine.parallel_from, self._leaves)
        most = max((leaf.threads for leaf in leaves), default=1)
        past, is_far = self._past(leaves, most)
        sweeps = [leaf.sweep for leaf in leaves]
        caches = (self._through(link.share(most), link.line) for link in self.machine.links)
        fetched = [cache.in_turn(sweeps) for cache in caches]
        return [
            each
            for leaf, own, *bytes_ in zip(leaves, past, *fetched, strict=True)
            for each in self._divided(leaf, own if is_far else None, bytes_)
        ]

    def seconds(self, kernel: Kernel) -> float:
        """Return the seconds of a call."""
        return self.machine.call + sum(each.seconds(self.machine) for each in self.facts(kernel))

    def _divided(
        self, leaf: Leaf, past: Mapping[str, float] | None, fetched: Sequence[Bytes]
    ) -> Iterator[CpuFacts]:
        """Yield what each nest does: the first to touch a buffer waits for the memory.

        There is nothing `past` the caches in a call that they hold, which prefetches nothing.
        """
        parts = self._parts(leaf)
        counts = Counter(key for part in parts for key in part.runs)
        seen: set[Key] = set()
        for part in parts:
            *near, far = fetched
            own = [{key: all_[key] / counts[key] for key in part.runs} for all_ in near]
            own.append({key: far[key] * (key not in seen) for key in part.runs})
            seen |= part.runs.keys()
            yield CpuFacts(
                leaf.threads,
                {name: leaf.threads * n for name, n in self._moved(own, past or {}).items()},
                part.amounts | self._waits(part, own, past),
                barriers=int(leaf.threads > 1 and part is parts[0]),
            )

    def _moved(self, own: Sequence[Bytes], past: Mapping[str, float]) -> dict[str, float]:
        """Return the bytes in both directions by link, those that leave the last cache apart."""
        found: dict[str, float] = {}
        for link, bytes_ in zip(self.machine.links, own, strict=True):
            kept = [(key, n) for key, n in bytes_.items() if not (key[1] and key[0] in past)]
            found[WRITTEN] = sum(n for (_, stores), n in kept if stores)
            found[link.name] = sum(n for _, n in kept) + found[WRITTEN]
        found[link.name] -= found[WRITTEN]
        found[WRITTEN] += sum(past.get(name, 0.0) for name, stores in own[-1] if stores)
        return found

    def _waits(
        self, part: _Part, own: Sequence[Bytes], past: Mapping[str, float] | None
    ) -> dict[str, float]:
        """Return the amounts that depend on where bytes come from."""
        line = self.machine.links[-1].line
        return {
            "waits": sum(n / line * part.late.get(name, 0.0) for (name, _), n in own[-1].items()),
            "jumps": sum(own[-1][key] / run for key, run in part.runs.items() if run),
            "streams": part.amounts["streams"] if past else 0.0,
            "prefetches": part.amounts["prefetches"] * (TEST if past is None else 1.0),
        }

    def _past(self, leaves: Sequence[Leaf], most: int) -> tuple[list[dict[str, float]], bool]:
        """Return for each leaf the bytes of the fields that it writes past the caches.

        And whether a call touches more than the caches hold.
        """
        whole = self._through(1, self.machine.links[0].line)
        pairs = [(leaf, whole.footprint(leaf.sweep)) for leaf in leaves]
        usual = max(self.machine.stream_from, most * CACHE_OF_A_THREAD)
        least = usual if self.sizes.stream_from is None else self.sizes.stream_from
        if sum(leaf.threads * sum(own.values()) for leaf, own in pairs) < least:
            return [{} for _ in leaves], False
        streams = [
            {name for nest in nests_of(leaf.node) for name in marks_of(nest).streams}
            for leaf in leaves
        ]
        return [
            {name: n for (name, stores), n in own.items() if stores and name in names}
            for (_, own), names in zip(pairs, streams, strict=True)
        ], True


@classes.frozen
class _Part:
    """What is known of a nest of a leaf.

    Attributes:
        amounts: of a thread, by kind; see `amounts`.
        runs: of what it touches, bytes that lie one after the other before its loops jump; 0 where
            no load waits for the jump.
        late: which share of the lines of a buffer its loads wait for, where tables tell the rows
            and no prefetch asks for them; several short rows are on their way at a time.

    """

    amounts: dict[str, float]
    runs: Mapping[Key, float]
    late: Mapping[str, float]


def _parts(leaf: Leaf, machine: CpuClass) -> Iterator[_Part]:
    is_rolled = isinstance(leaf.node, Tiles) and leaf.node.rolled is not None
    is_asking = any(marks_of(nest).asked for nest in nests_of(leaf.node))
    line = machine.links[-1].line
    for work, (body, extents) in zip(leaf.work, bodies(leaf.sweep), strict=True):
        found = amounts(work, machine)
        if is_rolled:
            found["rings"] = work.times[-2] / leaf.turn
        asked = {work.nest.body[row].buffer for row in marks_of(work.nest).asked}  # type: ignore[attr-defined]  # loads
        runs = {
            (touch.buffer, touch.stores): 0.0
            if touch.stores or touch.is_told or touch.buffer in asked
            else leaf.turn * max(touch.run(extents), line)
            for touch in body
        }
        late = {
            touch.buffer: max(0.0, 1.0 - SHORT * line / max(touch.run(extents), line))
            for touch in body
            if touch.is_told and not is_asking
        }
        yield _Part(found, runs, late)
