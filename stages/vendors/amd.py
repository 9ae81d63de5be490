"""AMD: architectures, flags of hiprtc and hipcc, and what code objects tell of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ...runtime.process import DeviceType
from .simt import dialect
from .vendor import KIB, MIB, Gpu, Library, Usage, Vendor, never

# From the vendor's data sheets and architecture guides; a fused multiply-add is one operation.
_GPUS: Final[Mapping[str, Gpu]] = {
    "gfx908": Gpu(("CDNA", "MI100"),
        120, 64, 65536, 64 * KIB, 64 * KIB, 2560, 8 * MIB, 1.2e12, 11.5e12, 5.8e12),
    # MI250X: one of its two dies
    "gfx90a": Gpu(("CDNA2", "MI210", "MI250", "MI250X"),
        110, 64, 131072, 64 * KIB, 64 * KIB, 2048, 8 * MIB, 1.6e12, 12.0e12, 12.0e12),
    # MI300X; the second-level cache is that of one of its eight dies
    "gfx942": Gpu(("CDNA3", "MI300A", "MI300X", "MI325X"),
        304, 64, 131072, 64 * KIB, 64 * KIB, 2048, 4 * MIB, 5.3e12, 81.7e12, 40.8e12),
    # MI355X, likewise
    "gfx950": Gpu(("CDNA4", "MI350X", "MI355X"),
        256, 64, 131072, 160 * KIB, 160 * KIB, 2048, 4 * MIB, 8.0e12, 78.6e12, 39.3e12),
    "gfx1030": Gpu(("RDNA2", "RX 6900 XT"),
        80, 32, 65536, 64 * KIB, 64 * KIB, 1024, 4 * MIB, 0.51e12, 11.5e12, 0.72e12),
    "gfx1100": Gpu(("RDNA3", "RX 7900 XTX"),
        96, 32, 98304, 64 * KIB, 64 * KIB, 1024, 6 * MIB, 0.96e12, 30.7e12, 0.96e12),
    "gfx1201": Gpu(("RDNA4", "RX 9070 XT"),
        64, 32, 98304, 64 * KIB, 64 * KIB, 1024, 8 * MIB, 0.64e12, 24.3e12, 0.76e12),
}  # fmt: skip

_NAMES: Final = """\
#define BOTH static __host__ __device__ inline
#define gpuStream_t hipStream_t
#define gpuLaunchKernel hipLaunchKernel
#define gpuStreamSynchronize hipStreamSynchronize"""


def _offloaded(arch: str) -> str:
    return f"--offload-arch={arch}"


# --- notes in code objects: a map in MessagePack, whose keys are sorted -------------------------

_KEYS: Final = {
    "registers": b".vgpr_count", "spilled": b".vgpr_spill_count",
    "stack": b".private_segment_fixed_size", "shared": b".group_segment_fixed_size",
}  # fmt: skip
_NAME: Final = rb"\.max_flat_workgroup_size.{1,5}\xa5\.name"


def _taken(_: str, images: Mapping[str, bytes]) -> Iterator[tuple[str, str, Usage]]:
    """Yield kernel, architecture, and what it takes, from code objects; spills are in registers."""
    for arch, image in images.items():
        for name, note in _notes(image):
            yield name, arch, {own: _number(note, key) for own, key in _KEYS.items()}


def _notes(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each kernel with the end of its note."""
    for found in re.finditer(_NAME, image, re.DOTALL):
        first = found.end()
        size = image[first] & 31 if image[first] < 0xC0 else image[first + 1]
        first += 1 if image[first] < 0xC0 else 2
        start = image.rfind(b".group_segment_fixed_size", 0, found.start())
        end = image.find(b".wavefront_size", first)
        yield image[first : first + size].decode(), image[start:end]


def _number(note: bytes, key: bytes) -> int:
    """Return the integer that follows a key."""
    place = note.find(key)
    if place < 0:
        return 0
    kind, *rest = note[place + len(key) : place + len(key) + 9]
    width = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}.get(kind, 0)
    return int.from_bytes(bytes(rest[:width]), "big") if width else kind


AMD: Final = Vendor(
    name="amd",
    platform="hip",
    language="hip",
    device=DeviceType.ROCM,
    prefix="gfx",
    gpus=_GPUS,
    dialect=dialect,
    flags=("-std=c++17", "-O3", "-ffp-contract=off", "-fno-fast-math"),
    library=Library(
        headers="#include <hip/hip_runtime.h>\n#include <stdint.h>",
        names=_NAMES,
        flags=(
            "-std=c++17", "-O3", "-shared", "-fPIC", "-ffp-contract=off", "-fno-fast-math",
            "-fwrapv", "-fno-strict-aliasing", "-Wno-unused-result",
        ),
        arch_flag=_offloaded,
        compiler=("hipcc", "/opt/rocm/bin/hipcc"),
        install="Install ROCm and put 'hipcc' on the path; the backend 'gpu' needs no such "
        "compiler.",
        linking=("-x", "hip", "-Wl,-z,nodelete", "-Wl,-s"),
    ),
    copies_apart=never,
    taken=_taken,
)  # fmt: skip
