"""GPUs as values: the numbers of the GPU that a build is for, by the name of the architecture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..runtime.process import DeviceType, OptionError, classes
from .option_kinds import Kind
from .vendors.known import GPUS, vendor_of
from .vendors.vendor import Vendor

WIDEST: Final = 16  # bytes of the widest load or store of one thread, by either vendor
KNOWN_ARCHS: Final = tuple(GPUS)
USUAL_LEVELS: Final = 82  # of a column, where nothing tells how many a call has


def _as_archs(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; the defaults of the other fields need known ones."""
    archs = (given,) if isinstance(given, str) else tuple(given)
    for arch in archs:
        if arch not in GPUS:
            raise OptionError(f"Unknown GPU architecture '{arch}'.", name=arch, known=GPUS)
    kinds = {(vendor_of(arch).name, GPUS[arch].wavefront) for arch in archs}
    if len(kinds) != 1:
        names = ", ".join(f"'{arch}'" for arch in archs)
        raise OptionError(
            f"One entry cannot be built for {names or 'no architecture'}.",
            hints=("Name architectures of one vendor and one wavefront size.",),
        )
    return archs


def _least(field: str) -> Any:
    """Take a number from the table: the least of all architectures."""

    def least(target: GpuTarget) -> Any:
        return min(getattr(GPUS[arch], field) for arch in target.archs)

    found = classes.field()
    found.default(least)
    return found


@classes.frozen
class GpuTarget:
    """A GPU by the name of its architecture, or several that one entry is built for.

    The numbers are those of a known product with that architecture, and the least of several; an
    argument may replace each. Memory is in bytes, `bandwidth` in bytes a second, rates in
    operations a second.

    Attributes:
        archs: names such as 'sm_90' or 'gfx942', all of one vendor and one wavefront size.
        multiprocessors: how many there are; AMD calls them compute units.
        wavefront: how many threads run in lock step; NVIDIA calls them a warp.
        registers: registers of 32 bits that the threads of one multiprocessor share.
        shared_memory: memory of one multiprocessor that the threads of a block share.
        block_memory: how much of it one block may have.
        max_threads: how many threads one multiprocessor holds.
        l2: second-level cache that a multiprocessor reaches.
        bandwidth: of the GPU's memory.
        float32_rate: how fast the whole GPU computes float32.
        float64_rate: how fast it computes float64.
        block_threads: how many threads one block may have.

    Raises:
        OptionError: for an unknown architecture, or several that do not go together.

    >>> target = GpuTarget("sm_90")
    >>> target.vendor.name, target.wavefront, target.shared_memory // 1024
    ('nvidia', 32, 228)
    >>> GpuTarget(("sm_80", "sm_90")).shared_memory // 1024
    164
    >>> GpuTarget("gfx942").device.name
    'ROCM'
    """

    archs: tuple[str, ...] = classes.field(converter=_as_archs)
    multiprocessors: int = _least("multiprocessors")
    wavefront: int = _least("wavefront")
    registers: int = _least("registers")
    shared_memory: int = _least("shared_memory")
    block_memory: int = _least("block_memory")
    max_threads: int = _least("max_threads")
    l2: int = _least("l2")
    bandwidth: float = _least("bandwidth")
    float32_rate: float = _least("float32_rate")
    float64_rate: float = _least("float64_rate")
    block_threads: int = 1024

    @property
    def vendor(self) -> Vendor:
        """The maker of the GPU: the dialect of its kernels, and its compilers."""
        return vendor_of(self.archs[0])

    @property
    def device(self) -> DeviceType:
        """The kind of device that holds the fields and runs the code."""
        found = self.vendor.device
        assert found is not None
        return found

    def writer(self, *, host: bool) -> Vendor:
        """Return the vendor whose dialect the kernels have; `host` runs them in its place.

        >>> GpuTarget("gfx942").writer(host=False).language
        'hip'
        """
        if not host:
            return self.vendor
        from .vendors.host import HOST  # the text that checks threads is long

        return HOST

    def memory(self, *, host: bool, on_device: bool) -> DeviceType:
        """Return where fields lie; for kernels on the `host`, there or on the simulated device."""
        if not host:
            return self.device
        return DeviceType.NULL if on_device else DeviceType.CPU

    @property
    def cores(self) -> int:
        """How many multiprocessors share the blocks of a launch."""
        return self.multiprocessors

    @property
    def core_memory(self) -> int:
        """Bytes of shared memory of one multiprocessor."""
        return self.shared_memory

    @property
    def has_fma(self) -> bool:
        """Every architecture has a fused multiply-add."""
        return True

    @property
    def can_stream(self) -> bool:
        """Stores of GPUs do not read the line first, so non-temporal stores save no traffic."""
        return False

    @property
    def copies_apart(self) -> bool:
        """Whether copies to shared memory go on beside other work."""
        return all(self.vendor.copies_apart(arch) for arch in self.archs)

    @property
    def gather(self) -> float:
        """A quarter of an element that goes to memory and back: it often comes from a cache."""
        return self.operations_per_element(8) / 4

    @property
    def gather_alone(self) -> float:
        """Threads load elements one by one anyway."""
        return self.gather

    @property
    def test(self) -> float:
        """Threads compare their indices at each point, and combine what they find."""
        return 2.0

    def operations_per_element(self, itemsize: int) -> float:
        """Return the number of operations that take as long as writing and reading one element."""
        rate = self.float64_rate if itemsize == 8 else self.float32_rate
        return 2 * itemsize / self.bandwidth * rate

    def slowdown(self, itemsize: int, handed: int) -> float:
        """Return how many times as long an operation takes in scans that hand numbers on.

        They keep `handed` bytes of each level in shared memory, so few threads fit. Half of those
        that a multiprocessor holds keep it busy, fewer where it has few units for the type.

        >>> h100 = GpuTarget("sm_90")
        >>> [round(h100.slowdown(size, 3 * size), 1) for size in (4, 8)]
        [4.3, 8.6]
        """
        column = min(1 / self.wavefront, USUAL_LEVELS * handed / self.shared_memory)
        units = self.operations_per_element(itemsize) / self.operations_per_element(4)
        return max(1.0, self.max_threads / 2 * min(1.0, units) * column)


def arch_of(name: str) -> str | None:
    """Return the architecture that a name means: its own or that of a product, in any case.

    >>> arch_of("a100"), arch_of("gfx90a"), arch_of("Hopper"), arch_of("A1000")
    ('sm_80', 'gfx90a', 'sm_90', None)
    """
    for arch, gpu in GPUS.items():
        if name.lower() in (arch, *(each.lower() for each in gpu.names)):
            return arch
    return None


def _named_target(value: Any) -> Any:
    """Return the GPU that a name means; leave other values alone."""
    arch = arch_of(value) if isinstance(value, str) else None
    return value if arch is None else GpuTarget(arch)


GPU_TARGET: Final = Kind(
    "the name of a GPU or of its architecture, or a 'GpuTarget'",
    lambda value: isinstance(value, GpuTarget),
    _named_target,
    known=(*KNOWN_ARCHS, *(each for gpu in GPUS.values() for each in gpu.names[1:])),
    in_files=False,  # it decides which entries of a file apply
)
