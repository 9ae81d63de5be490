"""CPUs as values: the class of machines that a build is for.

No stage probes the machine; `CpuTarget.host()` does, where a backend is made.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Final, Self

from ..runtime.process import DeviceType, classes
from .option_kinds import Kind

_LEVELS: Final = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"),
    "x86-64-v2": ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
}
_VECTOR_BYTES: Final = {
    "x86-64": 16, "x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64, "armv8-a": 16, "armv8.2-a": 16,
}  # fmt: skip
# The class of machines that stands for all with an instruction set: the most threads of a tiled
# loop, and the memory bandwidth that the cost model takes each of them to have.
_MOST_THREADS: Final = 64
_BANDWIDTH_OF_ONE: Final = 30e9
_CLOCK: Final = 3.0e9
_OPERATIONS_PER_CYCLE: Final = 3


@classes.frozen
class CpuTarget:
    """A class of CPUs: its named instruction set, and the numbers of the cost model.

    `cores` is the largest number of threads that a tiled loop has memory for; a call may use fewer.
    `l2` is the second cache of a core in bytes, `bandwidth` is bytes a second of all cores. The
    numbers describe a class of machines; each call decides by the machine that it runs on.
    `vector_math` says that the C library has `exp` and a few others for vectors.

    >>> CpuTarget(isa="x86-64-v3", cores=2).vector_bytes
    32
    """

    isa: str = classes.field(default="x86-64-v2")
    cores: int = 1
    vector_bytes: int = classes.field()
    l2: int = 1024 * 1024
    bandwidth: float = classes.field()
    vector_math: bool = False

    @vector_bytes.default
    def _vector_bytes(self) -> int:
        return _VECTOR_BYTES.get(self.isa, 16)

    @bandwidth.default
    def _bandwidth(self) -> float:
        return 30e9 * min(self.cores, 8)

    @isa.validator
    def _named(self, _: object, isa: str) -> None:
        if isa not in _VECTOR_BYTES:
            known = ", ".join(f"'{name}'" for name in sorted(_VECTOR_BYTES))
            raise ValueError(
                f"Unknown instruction set '{isa}'; expected one of {known}. "
                "Use CpuTarget.host() for the machine that you are on."
            )

    @classmethod
    def host(cls, isa: str = "native") -> Self:
        """Describe the class of this machine; 'native' becomes its highest named level.

        Two machines with one instruction set and one C library have equal targets and share builds,
        whatever their numbers of cores and their caches.

        >>> CpuTarget.host().isa != "native"
        True
        """
        return cls(
            isa=host_isa() if isa == "native" else isa,
            cores=_MOST_THREADS,
            bandwidth=_MOST_THREADS * _BANDWIDTH_OF_ONE,
            vector_math=_has_vector_math(),
        )

    @property
    def device(self) -> DeviceType:
        """The kind of device that holds the fields and runs the code."""
        return DeviceType.CPU

    @property
    def core_memory(self) -> int:
        """Bytes of the second-level cache of one core."""
        return self.l2

    @property
    def flags(self) -> tuple[str, ...]:
        """The compiler flags for the instruction set."""
        # GCC and Clang prefer 256 bits by default
        wide = ("-mprefer-vector-width=512",) if self.vector_bytes == 64 else ()
        return (f"-march={self.isa}", *wide)

    @property
    def has_fma(self) -> bool:
        """Whether the instruction set has a fused multiply-add."""
        return self.isa not in ("x86-64", "x86-64-v2")

    @property
    def copies_apart(self) -> bool:
        """Cores have no memory that threads share."""
        return False

    @property
    def can_stream(self) -> bool:
        """Whether the code generator knows non-temporal stores for the instruction set."""
        return self.isa.startswith("x86-64")

    @property
    def gather(self) -> float:
        """A row that a table tells comes from the second cache or from further away."""
        return 4

    @property
    def gather_alone(self) -> float:
        """No lanes share the load of a single element, and its index is loaded for it alone."""
        return 4 * self.gather

    @property
    def test(self) -> float:
        """Loops end at the sides of regions, or compare outside of the innermost one."""
        return 0.0

    def operations_per_element(self, itemsize: int) -> float:
        """Return the number of operations that take as long as writing and reading one element.

        A store reads and writes a cache line, a load reads it once more.
        """
        moved = 3 * itemsize * self.cores / self.bandwidth
        lanes = min(self.vector_bytes, 32) / itemsize  # wider vectors take two cycles or more
        return moved * lanes * _OPERATIONS_PER_CYCLE * _CLOCK

    def slowdown(self, itemsize: int, handed: int) -> float:
        """Return 1: a core has the same threads whatever they keep in its cache."""
        return 1.0


def _named_target(value: Any) -> Any:
    """Return the class of machines with a named instruction set; leave other values alone."""
    return CpuTarget.host(value) if isinstance(value, str) and value in _VECTOR_BYTES else value


CPU_TARGET: Final = Kind(
    "the name of an instruction set, or a 'CpuTarget'",
    lambda value: isinstance(value, CpuTarget),
    _named_target,
    known=tuple(_VECTOR_BYTES),
    in_files=False,  # it decides which entries of a file apply
)
Target = CpuTarget  # its name in programs, lock files and packs


@functools.cache
def host_isa() -> str:
    """Return the highest named instruction set of this machine."""
    machine = os.uname().machine.lower()
    if machine in ("aarch64", "arm64"):
        return "armv8.2-a" if "atomics" in _cpu_flags() else "armv8-a"
    flags = _cpu_flags()
    for level, (name, _) in enumerate(_LEVELS.items()):
        needed = [flag for below in list(_LEVELS.values())[level:] for flag in below]
        if flags.issuperset(needed):
            return name
    return "x86-64"


def runs_here(isa: str) -> bool:
    """Tell whether this machine has a named instruction set.

    >>> runs_here(host_isa())
    True
    """
    families = (("x86-64", *reversed(_LEVELS)), ("armv8-a", "armv8.2-a"))
    for family in families:
        if isa in family and host_isa() in family:
            return family.index(isa) <= family.index(host_isa())
    return False


def _has_vector_math() -> bool:
    """Tell whether the C library comes with libmvec, as glibc on x86-64 does since 2.22."""
    try:
        name = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return False
    version = name.removeprefix("glibc ").split(".")
    is_glibc = name.startswith("glibc ") and all(part.isdecimal() for part in version[:2])
    return is_glibc and os.uname().machine == "x86_64" and tuple(map(int, version[:2])) >= (2, 22)


def _cpu_flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo", errors="replace") as lines:
            for line in lines:  # stops at the first processor; there may be hundreds
                name, _, flags = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(flags.split())
    except OSError:
        pass
    return frozenset()
