"""GPUs as values: the numbers of the GPU that a build is for, by the name of the architecture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from ..runtime.fields.device import DeviceType
from ..runtime.process import classes
from ..runtime.process.errors import OptionError
from .option_kinds import Kind

Platform: TypeAlias = Literal["cuda", "hip", "host"]  # what compiles and runs kernels

WIDEST: Final = 16  # bytes of the widest load or store of one thread, by either vendor
KIB: Final = 1024
MIB: Final = 1024 * KIB


@classes.frozen
class _Gpu:
    """One architecture, as the best known product with it: memory in bytes, rates per second."""

    multiprocessors: int
    wavefront: int
    registers: int  # of 32 bits, of one multiprocessor
    shared_memory: int
    block_memory: int
    max_threads: int
    l2: int
    bandwidth: float
    float32_rate: float
    float64_rate: float


# From the vendors' data sheets and architecture guides; a fused multiply-add is one operation.
_GPUS: Final[Mapping[str, _Gpu]] = {
    # V100
    "sm_70": _Gpu(80, 32, 65536, 96 * KIB, 96 * KIB, 2048, 6 * MIB, 0.90e12, 7.8e12, 3.9e12),
    # T4
    "sm_75": _Gpu(40, 32, 65536, 64 * KIB, 64 * KIB, 1024, 4 * MIB, 0.32e12, 4.0e12, 0.13e12),
    # A100
    "sm_80": _Gpu(108, 32, 65536, 164 * KIB, 163 * KIB, 2048, 40 * MIB, 1.56e12, 9.7e12, 4.9e12),
    # A40
    "sm_86": _Gpu(84, 32, 65536, 100 * KIB, 99 * KIB, 1536, 6 * MIB, 0.70e12, 18.7e12, 0.29e12),
    # L40S
    "sm_89": _Gpu(142, 32, 65536, 100 * KIB, 99 * KIB, 1536, 96 * MIB, 0.86e12, 45.8e12, 0.72e12),
    # H100
    "sm_90": _Gpu(132, 32, 65536, 228 * KIB, 227 * KIB, 2048, 50 * MIB, 3.35e12, 33.5e12, 16.7e12),
    # B200
    "sm_100": _Gpu(148, 32, 65536, 228 * KIB, 227 * KIB, 2048, 126 * MIB, 8.0e12, 37.0e12, 18.5e12),
    # B300, which has few units for float64
    "sm_103": _Gpu(148, 32, 65536, 228 * KIB, 227 * KIB, 2048, 126 * MIB, 8.0e12, 37.0e12, 0.6e12),
    # RTX PRO 6000 Blackwell
    "sm_120": _Gpu(188, 32, 65536, 100 * KIB, 99 * KIB, 1536, 128 * MIB, 1.79e12, 62.5e12, 0.98e12),
    # GB10
    "sm_121": _Gpu(48, 32, 65536, 100 * KIB, 99 * KIB, 1536, 24 * MIB, 0.27e12, 15.5e12, 0.24e12),
    # MI100
    "gfx908": _Gpu(120, 64, 65536, 64 * KIB, 64 * KIB, 2560, 8 * MIB, 1.2e12, 11.5e12, 5.8e12),
    # MI250X, one of its two dies
    "gfx90a": _Gpu(110, 64, 131072, 64 * KIB, 64 * KIB, 2048, 8 * MIB, 1.6e12, 12.0e12, 12.0e12),
    # MI300X; the second-level cache is that of one of its eight dies
    "gfx942": _Gpu(304, 64, 131072, 64 * KIB, 64 * KIB, 2048, 4 * MIB, 5.3e12, 81.7e12, 40.8e12),
    # MI355X, likewise
    "gfx950": _Gpu(256, 64, 131072, 160 * KIB, 160 * KIB, 2048, 4 * MIB, 8.0e12, 78.6e12, 39.3e12),
    # RX 6900 XT
    "gfx1030": _Gpu(80, 32, 65536, 64 * KIB, 64 * KIB, 1024, 4 * MIB, 0.51e12, 11.5e12, 0.72e12),
    # RX 7900 XTX
    "gfx1100": _Gpu(96, 32, 98304, 64 * KIB, 64 * KIB, 1024, 6 * MIB, 0.96e12, 30.7e12, 0.96e12),
    # RX 9070 XT
    "gfx1201": _Gpu(64, 32, 98304, 64 * KIB, 64 * KIB, 1024, 8 * MIB, 0.64e12, 24.3e12, 0.76e12),
}

KNOWN_ARCHS: Final = tuple(_GPUS)
# By architecture: the name of its family, then those of products with it.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "sm_70": ("Volta", "V100"),
    "sm_75": ("Turing", "T4"),
    "sm_80": ("Ampere", "A100", "A30"),
    "sm_86": ("Ampere", "A10", "A40"),
    "sm_89": ("Ada", "L4", "L40", "L40S"),
    "sm_90": ("Hopper", "H100", "H200", "GH200"),
    "sm_100": ("Blackwell", "B200", "GB200"),
    "sm_103": ("Blackwell", "B300", "GB300"),
    "sm_120": ("Blackwell", "RTX PRO 6000"),
    "sm_121": ("Blackwell", "GB10"),
    "gfx908": ("CDNA", "MI100"),
    "gfx90a": ("CDNA2", "MI210", "MI250", "MI250X"),
    "gfx942": ("CDNA3", "MI300A", "MI300X", "MI325X"),
    "gfx950": ("CDNA4", "MI350X", "MI355X"),
    "gfx1030": ("RDNA2", "RX 6900 XT"),
    "gfx1100": ("RDNA3", "RX 7900 XTX"),
    "gfx1201": ("RDNA4", "RX 9070 XT"),
}


def _as_archs(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; the defaults of the other fields need known ones."""
    archs = (given,) if isinstance(given, str) else tuple(given)
    for arch in archs:
        if arch not in _GPUS:
            raise OptionError(f"Unknown GPU architecture '{arch}'.", name=arch, known=_GPUS)
    kinds = {(_vendor(arch), _GPUS[arch].wavefront) for arch in archs}
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
        return min(getattr(_GPUS[arch], field) for arch in target.archs)

    return attrs.field(default=attrs.Factory(least, takes_self=True))


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
    >>> target.vendor, target.wavefront, target.shared_memory // 1024
    ('nvidia', 32, 228)
    >>> GpuTarget(("sm_80", "sm_90")).shared_memory // 1024
    164
    >>> GpuTarget("gfx942").device.name
    'ROCM'
    """

    archs: tuple[str, ...] = attrs.field(converter=_as_archs)
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
    def vendor(self) -> Literal["nvidia", "amd"]:
        """The vendor, which decides the compiler: NVRTC or hiprtc."""
        return _vendor(self.archs[0])

    @property
    def device(self) -> DeviceType:
        """The kind of device that holds the fields and runs the code."""
        return DeviceType.CUDA if self.vendor == "nvidia" else DeviceType.ROCM

    def platform(self, *, host: bool) -> Platform:
        """Return what compiles and runs kernels: the vendor's, or C++ on the `host` in their place.

        >>> GpuTarget("gfx942").platform(host=False)
        'hip'
        """
        if host:
            return "host"
        return "cuda" if self.vendor == "nvidia" else "hip"

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
        """Whether copies to shared memory go on beside other work: NVIDIA's, from sm_80 on."""
        return all(_vendor(arch) == "nvidia" and int(arch[3:]) >= 80 for arch in self.archs)

    @property
    def gather(self) -> float:
        """A quarter of an element that goes to memory and back: it often comes from a cache."""
        return self.operations_per_element(8) / 4

    def operations_per_element(self, itemsize: int) -> float:
        """Return the number of operations that take as long as writing and reading one element."""
        rate = self.float64_rate if itemsize == 8 else self.float32_rate
        return 2 * itemsize / self.bandwidth * rate


def _vendor(arch: str) -> Literal["nvidia", "amd"]:
    return "nvidia" if arch.startswith("sm_") else "amd"


def arch_of(name: str) -> str | None:
    """Return the architecture that a name means: its own or that of a product, in any case.

    >>> arch_of("a100"), arch_of("gfx90a"), arch_of("Hopper"), arch_of("A1000")
    ('sm_80', 'gfx90a', 'sm_90', None)
    """
    for arch, names in NAMES.items():
        if name.lower() in (arch, *(each.lower() for each in names)):
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
    known=(*KNOWN_ARCHS, *(each for _, *products in NAMES.values() for each in products)),
    in_files=False,  # it decides which entries of a file apply
)
