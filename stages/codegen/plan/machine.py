"""Classes of machines as constants: how fast each level of memory, and how much happens at once.

The numbers are of a class of machines and ship with the code, so that a prediction is the same
wherever it is made. `fieldforge doctor --machine` measures those of the node at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....runtime.process import classes

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIGA: Final = 1e9


@classes.frozen
class Link:
    """A cache, and how many bytes a second come to it from beyond or leave it.

    Attributes:
        name: what lies beyond the cache.
        capacity: the bytes of the cache.
        line: the bytes that come together.
        one: bytes a second for a core alone.
        every: the most for all cores together; 0 where each has its own.
        is_shared: whether all cores have the cache together.
        both_ways: whether reads and writes of a core alone hardly slow each other.

    """

    name: str
    capacity: int
    line: int
    one: float
    every: float = 0.0
    is_shared: bool = False
    both_ways: bool = False

    def rate(self, threads: int) -> float:
        """Return the bytes a second of so many threads together.

        >>> Link("memory", MIB, 64, 10e9, every=15e9).rate(4) / 1e9
        15.0
        """
        return min(self.one * threads, self.every or self.one * threads)

    def is_duplex(self, threads: int) -> bool:
        """Tell whether reads of so many threads leave room for writes."""
        return self.both_ways and not 0 < self.every <= self.one * threads

    def share(self, threads: int) -> float:
        """Return the bytes of the cache that one of several threads has."""
        return self.capacity / threads if self.is_shared else self.capacity


@classes.frozen
class CpuClass:
    """A class of CPUs.

    Attributes:
        name: as `--machine` takes it.
        links: the caches from the first one on.
        lanes: bytes of a vector register.
        costs: seconds of a core for one of each `Amount` in `cpu_seconds`.
        barrier: seconds to hand a loop to all threads and to wait for them.
        call: seconds of a call that computes nothing.
        parallel_from: points from which threads share a loop.
        stream_from: bytes of a call from which stores go past the caches.
        overlap: the power of a mean: 1 adds what a loop waits for, more hides the shorter times.

    """

    name: str
    links: tuple[Link, ...]
    lanes: int
    registers: int
    costs: Mapping[str, float]
    barrier: float
    call: float
    parallel_from: int = 8192
    stream_from: int = 12 * MIB
    overlap: float = 2.0


@classes.frozen
class GpuClass:
    """A class of GPUs.

    Attributes:
        name: as `--machine` takes it.
        memory: beyond the cache that all multiprocessors share.
        l2: beyond the first cache of a multiprocessor.
        l1: bytes a second that all multiprocessors load from their first caches.
        issue: operations a second in float64; those in float32 are twice as many.
        words: instructions a second of all threads, whatever they do.
        multiprocessors: how many there are.
        threads: the most threads of a multiprocessor.
        registers: of a multiprocessor.
        step: seconds between two instructions of a thread that follow from each other.
        wait: seconds from a load to its value, where no cache of the multiprocessor has it.
        launch: seconds from one kernel to the next.
        idle: how much longer a kernel takes without any other threads to switch to (a of part D).
        ends: how much longer it takes if no lane but one works (b).
        base: how much longer than its slowest part a kernel takes (c).
        overlap: the power of a mean: 1 adds what a kernel waits for, more hides the shorter times.

    """

    name: str
    memory: Link
    l2: Link
    l1: float
    issue: float
    words: float
    multiprocessors: int
    threads: int
    registers: int
    step: float
    wait: float
    launch: float
    idle: float
    ends: float
    base: float
    overlap: float


# Fitted by `doctor --model` to plans of drawn programs, see docs/decisions/0045.
EPYC: Final = CpuClass(
    "epyc",
    (
        Link("second", 32 * KIB, 64, 129 * GIGA),
        Link("third", MIB, 64, 302 * GIGA),
        Link(
            "memory", 8 * MIB, 64, 51 * GIGA, every=60 * GIGA, is_shared=True, both_ways=True
        ),
    ),
    lanes=32,
    registers=16,
    costs={
        "operations": 0.1e-9, "divisions": 1.5e-9, "loads": 0.22e-9, "gathers": 0.7e-9,
        "rows": 0.75e-9, "addresses": 0.13e-9, "prefetches": 0.18e-9, "streams": 1.7e-9,
        "rings": 2.8e-9, "waits": 5e-9, "jumps": 16e-9,
    },
    barrier=2e-6,
    call=0.25e-6,
    overlap=1.81,
)  # fmt: skip
# Fitted to 100 drawn programs on 2 and 16 cores with 2 MiB of second cache each, see
# docs/decisions/0106. The capacity of the memory's link is a share of a cache of 300 MiB.
XEON: Final = CpuClass(
    "xeon",
    (
        Link("second", 48 * KIB, 64, 99 * GIGA),
        Link("third", 2 * MIB, 64, 44 * GIGA, every=610 * GIGA),
        Link("memory", 64 * MIB, 64, 17 * GIGA, every=310 * GIGA, is_shared=True),
    ),
    lanes=64,
    registers=32,
    costs={
        "operations": 0.175e-9, "divisions": 4.1e-9, "loads": 0.475e-9, "gathers": 1e-9,
        "rows": 1.4e-9, "addresses": 0.13e-9, "prefetches": 0.1e-9, "streams": 1.6e-9,
        "rings": 3.5e-9, "waits": 5e-9, "jumps": 31e-9,
    },
    barrier=9.5e-6,
    call=1e-6,
    overlap=2.8,
)  # fmt: skip
H200: Final = GpuClass(
    "h200",
    Link("memory", 30 * MIB, 32, 3.65e12, is_shared=True),
    Link("second", 200 * KIB, 32, 5.1e12),
    l1=17e12,
    issue=14.5e12,
    words=16.5e12,
    multiprocessors=132,
    threads=2048,
    registers=65536,
    step=2.4e-9,
    wait=0.43e-6,
    launch=3.5e-6,
    idle=0.044,
    ends=0.565,
    base=1.0,
    overlap=5.7,
)
# Not fitted: an H200 with the memory of an H100.
H100: Final = classes.evolve(
    H200, name="h100", memory=Link("memory", 30 * MIB, 32, 2.5e12, is_shared=True)
)
CLASSES: Final[Mapping[str, CpuClass | GpuClass]] = {
    each.name: each for each in (EPYC, XEON, H100, H200)
}


def class_of(processor: str) -> CpuClass:
    """Return the class of a CPU by the name that the system has for it.

    >>> class_of("Intel(R) Xeon(R) Platinum 8480").name, class_of("AMD EPYC x 2").name
    ('xeon', 'epyc')
    """
    return XEON if "intel" in processor.lower() else EPYC
