"""NVIDIA: architectures, flags of NVRTC and nvcc, and what the assembler tells of kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ...runtime.process import DeviceType
from .simt import dialect
from .vendor import KIB, MIB, Gpu, Library, Usage, Vendor

# From the vendor's data sheets and architecture guides; a fused multiply-add is one operation.
_GPUS: Final[Mapping[str, Gpu]] = {
    "sm_70": Gpu(("Volta", "V100"),
        80, 32, 65536, 96 * KIB, 96 * KIB, 2048, 6 * MIB, 0.90e12, 7.8e12, 3.9e12),
    "sm_75": Gpu(("Turing", "T4"),
        40, 32, 65536, 64 * KIB, 64 * KIB, 1024, 4 * MIB, 0.32e12, 4.0e12, 0.13e12, 16),
    "sm_80": Gpu(("Ampere", "A100", "A30"),
        108, 32, 65536, 164 * KIB, 163 * KIB, 2048, 40 * MIB, 1.56e12, 9.7e12, 4.9e12),
    "sm_86": Gpu(("Ampere", "A10", "A40"),
        84, 32, 65536, 100 * KIB, 99 * KIB, 1536, 6 * MIB, 0.70e12, 18.7e12, 0.29e12, 16),
    "sm_89": Gpu(("Ada", "L4", "L40", "L40S"),
        142, 32, 65536, 100 * KIB, 99 * KIB, 1536, 96 * MIB, 0.86e12, 45.8e12, 0.72e12, 24),
    "sm_90": Gpu(("Hopper", "H100", "H200", "GH200"),
        132, 32, 65536, 228 * KIB, 227 * KIB, 2048, 50 * MIB, 3.35e12, 33.5e12, 16.7e12),
    "sm_100": Gpu(("Blackwell", "B200", "GB200"),
        148, 32, 65536, 228 * KIB, 227 * KIB, 2048, 126 * MIB, 8.0e12, 37.0e12, 18.5e12),
    # B300 has few units for float64
    "sm_103": Gpu(("Blackwell", "B300", "GB300"),
        148, 32, 65536, 228 * KIB, 227 * KIB, 2048, 126 * MIB, 8.0e12, 37.0e12, 0.6e12),
    "sm_120": Gpu(("Blackwell", "RTX PRO 6000"),
        188, 32, 65536, 100 * KIB, 99 * KIB, 1536, 128 * MIB, 1.79e12, 62.5e12, 0.98e12, 24),
    "sm_121": Gpu(("Blackwell", "GB10"),
        48, 32, 65536, 100 * KIB, 99 * KIB, 1536, 24 * MIB, 0.27e12, 15.5e12, 0.24e12, 24),
}  # fmt: skip

_NAMES: Final = """\
#define BOTH static __host__ __device__ inline
#define gpuStream_t cudaStream_t
#define gpuLaunchKernel cudaLaunchKernel
#define gpuStreamSynchronize cudaStreamSynchronize"""


def _generated(arch: str) -> str:
    """Return nvcc's flag for an architecture.

    >>> _generated("sm_90")
    '-gencode=arch=compute_90,code=sm_90'
    """
    number = arch.removeprefix("sm_")
    return f"-gencode=arch=compute_{number},code=sm_{number}"


def _copies_apart(arch: str) -> bool:
    """Tell whether threads go on while memory comes to shared memory: from A100 on."""
    return int(arch.removeprefix("sm_")) >= 80


# --- what the assembler says --------------------------------------------------------------------

_KERNEL: Final = (
    r"entry function '(\w+)' for '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers([^\n]*)"
)


def _taken(log: str, _: Mapping[str, bytes]) -> Iterator[tuple[str, str, Usage]]:
    """Yield kernel, architecture, and what it takes, from the log of NVRTC."""
    found = re.findall(_KERNEL, log, re.DOTALL)
    for kernel, arch, stack, stores, loads, registers, rest in found:
        static = re.search(r"(\d+) bytes smem", rest)
        yield kernel, arch, {
            "registers": int(registers),
            "spilled": int(stores) + int(loads),
            "stack": int(stack),
            "shared": int(static[1]) if static else 0,
        }  # fmt: skip


NVIDIA: Final = Vendor(
    name="nvidia",
    platform="cuda",
    language="cuda",
    device=DeviceType.CUDA,
    prefix="sm_",
    gpus=_GPUS,
    dialect=dialect,
    flags=(
        "--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false",
        "--ptxas-options=-v", "--diag-suppress=177",
    ),
    library=Library(
        headers="#include <cuda_runtime.h>\n#include <stdint.h>",
        names=_NAMES,
        flags=(
            "-std=c++17", "-O3", "-shared",
            "-Xcompiler", "-fPIC,-fwrapv,-fno-strict-aliasing,-ffp-contract=off",
            "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false",
            "-diag-suppress=177",
        ),
        arch_flag=_generated,
        compiler=("nvcc", "/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"),
        install="Install NVIDIA's CUDA toolkit and put 'nvcc' on the path; the backend 'gpu' "
        "needs no such compiler.",
        linking=("-Xlinker", "-z", "-Xlinker", "nodelete", "-Xlinker", "-s"),
        has_host_compiler=True,
    ),
    copies_apart=_copies_apart,
    taken=_taken,
    reserved=1 * KIB,
)  # fmt: skip
