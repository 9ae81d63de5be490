"""The names of a machine's architecture, from the general to the special, for patterns in files."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...runtime.process import OptionError
from ...stages.target import CPU_TARGET, CpuTarget, host_isa

# Models of Intel's family 6, and parts of Arm (implementer 0x41), by the names that GCC gives them.
_INTEL: Final = {
    79: "broadwell", 85: "skylake-avx512", 106: "icelake-server", 108: "icelake-server",
    143: "sapphirerapids", 173: "graniterapids", 207: "emeraldrapids",
}  # fmt: skip
_ARM: Final = {
    0xD0C: "neoverse-n1", 0xD40: "neoverse-v1", 0xD49: "neoverse-n2", 0xD4F: "neoverse-v2",
    0xD84: "neoverse-v3",
}  # fmt: skip
_AMD: Final = ("znver1", "znver2", "znver3", "znver4", "znver5")
_ZEN4_MODELS: Final = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))  # of family 25


def names_of(target: Any) -> tuple[str, ...]:
    """Return the names that an `arch` pattern is compared with.

    A GPU has the name of its family, those of the products with its architecture, and that of the
    architecture. Where this process has such a GPU, other products are left out. A CPU has its
    instruction set and, if it is this machine's, the name of the microarchitecture.

    >>> names_of(CpuTarget(isa="x86-64-v3"))[0]
    'x86-64-v3'
    >>> from fieldforge.stages.gpu_target import GpuTarget
    >>> names_of(GpuTarget("gfx90a"))
    ('CDNA2', 'MI210', 'MI250', 'MI250X', 'gfx90a')
    """
    if isinstance(target, CpuTarget):
        own = microarchitecture() if target.isa == host_isa() else None
        return (target.isa, own) if own else (target.isa,)
    return tuple(name for arch in getattr(target, "archs", ()) for name in _names_of_gpu(arch))


def names_implied(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of one architecture with those that they imply: a product has a family.

    Raises:
        OptionError: for a name that no architecture has; no pattern could ever match it.

    >>> names_implied(["A100"]), names_implied(["x86-64-v4", "znver4"])
    (('Ampere', 'A100', 'sm_80'), ('x86-64-v4', 'znver4'))
    """
    from ...stages.gpu_target import arch_of
    from ...stages.vendors.known import GPUS

    known = known_names()
    implied: list[str] = []
    for name in names:
        if name.lower() not in map(str.lower, known):
            raise OptionError(f"There is no architecture '{name}'.", name=name, known=known)
        arch = arch_of(name)
        if arch is None:
            implied.append(name)
            continue
        family, *products = GPUS[arch].names
        here = [each for each in products if each.lower() == name.lower()]
        implied += [family, *(here or products), arch]
    return tuple(implied)


@functools.cache
def known_names() -> tuple[str, ...]:
    """Return every name that a pattern could match."""
    from ...stages.vendors.known import GPUS

    gpus = (name for arch, gpu in GPUS.items() for name in (arch, *gpu.names))
    cpus = (*CPU_TARGET.known, *_INTEL.values(), *_ARM.values(), *_AMD)
    return tuple(dict.fromkeys((*cpus, *gpus)))


def _names_of_gpu(arch: str) -> tuple[str, ...]:
    from ...stages.vendors.known import GPUS

    family, *products = GPUS[arch].names
    own, words = _device()
    if own == arch:
        here = [each for each in products if any(_is_product(each, word) for word in words)]
        products = here or products
    return (family, *products, arch)


def _is_product(product: str, word: str) -> bool:
    """Tell whether a word of a device's name is a product, maybe with letters of a variant.

    >>> _is_product("MI250", "MI250X"), _is_product("H200", "GH200"), _is_product("L4", "L40")
    (True, False, False)
    """
    return re.fullmatch(rf"{product}[A-Z]*", word) is not None


@functools.cache
def _device() -> tuple[str | None, tuple[str, ...]]:
    """Return the architecture of the GPU of this process, and the words of its name."""
    from ...runtime import gpu as devices
    from ...runtime.gpu.platform import PLATFORMS

    if devices.platform() not in PLATFORMS:
        return None, ()
    device = devices.Device(0)
    return device.arch, tuple(re.findall(r"[A-Z0-9]+", device.name.upper()))


@functools.cache
def microarchitecture() -> str | None:
    """Return this machine's microarchitecture as GCC names it, None if it is unknown."""
    try:
        with open("/proc/cpuinfo", errors="replace") as lines:
            return named(_facts(lines), platform.machine())
    except OSError:
        return None


def named(facts: Mapping[str, str], machine: str) -> str | None:
    """Name a CPU by what the system says of it.

    >>> named({"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17"}, "x86_64")
    'znver4'
    >>> named({"CPU implementer": "0x41", "CPU part": "0xd4f"}, "aarch64")
    'neoverse-v2'
    """
    if machine in ("aarch64", "arm64"):
        is_arm = facts.get("CPU implementer") == "0x41"
        return _ARM.get(int(facts.get("CPU part", "0"), 16)) if is_arm else None
    family, model = int(facts.get("cpu family", "0")), int(facts.get("model", "0"))
    if facts.get("vendor_id") == "GenuineIntel":
        return _INTEL.get(model) if family == 6 else None
    if facts.get("vendor_id") != "AuthenticAMD":
        return None
    if family == 25:
        return "znver4" if any(model in models for models in _ZEN4_MODELS) else "znver3"
    return {23: "znver2" if model >= 0x30 else "znver1", 26: "znver5"}.get(family)


def _facts(lines: Iterable[str]) -> dict[str, str]:
    """Return the lines on the first processor."""
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon and found:
            break
        found[name.strip()] = value.strip()
    return found
