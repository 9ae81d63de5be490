"""The protocol of machines for schedulers; `CpuTarget` and `GpuTarget` implement it."""

from __future__ import annotations

from typing import Protocol

from ..runtime.process import DeviceType


class Machine(Protocol):
    """The numbers of a CPU or GPU by which schedulers choose loops and memory."""

    @property
    def device(self) -> DeviceType:
        """The kind of device that holds the fields and runs the code."""

    @property
    def cores(self) -> int:
        """The number of cores of a CPU, or multiprocessors of a GPU, that share the loops."""

    @property
    def core_memory(self) -> int:
        """Bytes of fast memory of one core: its second-level cache, or shared memory."""

    @property
    def has_fma(self) -> bool:
        """Whether there is a fused multiply-add that is as fast as a product."""

    @property
    def copies_apart(self) -> bool:
        """Whether copies to memory that a block shares go on beside other work."""

    @property
    def can_stream(self) -> bool:
        """Whether the code generator knows non-temporal stores for it."""

    @property
    def gather(self) -> float:
        """How many operations take as long as reading an element where a neighbour table tells."""

    @property
    def gather_alone(self) -> float:
        """The same where the table tells each element, and not the row that it lies in."""

    @property
    def test(self) -> float:
        """How many operations take as long as the test of one side of a region at a point."""

    def operations_per_element(self, itemsize: int) -> float:
        """Return the number of operations that take as long as writing and reading one element."""

    def slowdown(self, itemsize: int, handed: int) -> float:
        """Return how many times as long an operation takes in scans that hand numbers on.

        They keep `handed` bytes of each level in the memory of their core.
        """
