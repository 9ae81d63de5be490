"""What a scheduler asks of a machine; `CpuTarget` and `GpuTarget` answer."""

from __future__ import annotations

from typing import Protocol

from ..runtime.fields.device import DeviceType


class Machine(Protocol):
    """The numbers that decide about loops and memory, whether the machine is a CPU or a GPU."""

    @property
    def device(self) -> DeviceType:
        """Where fields lie, and what generated code runs on."""

    @property
    def cores(self) -> int:
        """How many cores of a CPU, or multiprocessors of a GPU, share the loops."""

    @property
    def core_memory(self) -> int:
        """Bytes of fast memory of one core: its second-level cache, or shared memory."""

    @property
    def has_fma(self) -> bool:
        """Whether there is a fused multiply-add that is as fast as a product."""

    @property
    def can_stream(self) -> bool:
        """Whether the code generator knows non-temporal stores for it."""

    @property
    def gather(self) -> float:
        """How many operations take as long as reading an element where a neighbour table tells."""

    def operations_per_element(self, itemsize: int) -> float:
        """Return how many operations take as long as writing one element and reading it back."""
