"""What each compiled kernel takes of a multiprocessor: registers, spills, memory, occupancy.

Where a compiler tells of them is the vendor's to know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..gpu_target import GpuTarget
from ..vendors.known import GPUS
from ..vendors.vendor import Usage, Vendor

_LAUNCH: Final = re.compile(r"__launch_bounds__\((\d+)(?:, \d+)?\) (\w+)\(")
_PARTITIONS: Final = 4  # of a multiprocessor, each with its own registers
# A kernel whose shared memory the call gives: its arrays lie in that.
_DYNAMIC: Final = re.compile(
    r"__launch_bounds__\(\d+(?:, \d+)?\) (\w+)\((?:(?!\n}).)*?shared_array<", re.S
)


def usage(
    vendor: Vendor, log: str, images: Mapping[str, bytes], source: str = ""
) -> dict[str, Usage]:
    """Return what kernels take, as 'k0 sm_90', from the compiler's log and its modules.

    `spilled`, `stack` and `shared` are bytes, `registers` those of a thread. With the source, each
    kernel has the `occupancy` that its blocks reach: the share of the threads that fit. Where the
    sizes of a call decide how much shared memory a block gets, that is the occupancy without any,
    and `occupancy_by_shared` lists what is left where a block gets at most so many bytes.

    >>> log = '''Compiling entry function 'k0' for 'sm_90'
    ...     8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
    ... ptxas info : Used 72 registers, 512 bytes smem'''
    >>> nvidia = GpuTarget("sm_90").vendor
    >>> usage(nvidia, log, {})
    {'k0 sm_90': {'registers': 72, 'spilled': 4, 'stack': 8, 'shared': 512}}
    >>> source = "KERNEL __launch_bounds__(256) k0(f64* p0) { ff::shared_array<f64> s(0, 8);"
    >>> usage(nvidia, log, {}, source)["k0 sm_90"]["occupancy_by_shared"]
    [(76288, 0.375), (115200, 0.25), (231936, 0.125)]
    """
    launches = _launches(source)
    return {
        f"{kernel} {arch}": _with_occupancy(taken, arch, launches.get(kernel))
        for kernel, arch, taken in vendor.taken(log, images)
    }


def _launches(source: str) -> dict[str, tuple[int, bool]]:
    """Return the threads of a block, and whether the call gives it shared memory."""
    dynamic = set(_DYNAMIC.findall(source))
    return {name: (int(threads), name in dynamic) for threads, name in _LAUNCH.findall(source)}


def _with_occupancy(taken: Usage, arch: str, launch: tuple[int, bool] | None) -> Usage:
    if launch is None:
        return taken
    threads, is_dynamic = launch
    taken = {**taken, "threads": threads}
    taken["occupancy"] = _occupancy(taken, arch)
    if is_dynamic:
        taken["occupancy_by_shared"] = _by_shared(taken, arch)
    return taken


def _occupancy(taken: Usage, arch: str) -> float:
    """Return the share of a multiprocessor's threads that blocks of a kernel fill."""
    return _share(_blocks(taken, arch), taken, arch)


def _share(blocks: int, taken: Usage, arch: str) -> float:
    gpu = GpuTarget(arch)
    warps = -(-int(taken["threads"]) // gpu.wavefront)
    return round(blocks * warps * gpu.wavefront / gpu.max_threads, 3)


def _blocks(taken: Usage, arch: str) -> int:
    """Return how many blocks a multiprocessor holds at once."""
    gpu = GpuTarget(arch)
    warps = -(-int(taken["threads"]) // gpu.wavefront)
    registers = -(-int(taken["registers"]) // 8) * 8 * gpu.wavefront
    blocks = min(GPUS[arch].most_blocks, gpu.max_threads // (warps * gpu.wavefront))
    if registers:
        blocks = min(blocks, gpu.registers // _PARTITIONS // registers * _PARTITIONS // warps)
    if taken["shared"]:
        blocks = min(blocks, gpu.shared_memory // (int(taken["shared"]) + gpu.vendor.reserved))
    return blocks


def _by_shared(taken: Usage, arch: str) -> list[tuple[int, float]]:
    """Return the most bytes of shared memory with which so many blocks fit, and the occupancy."""
    gpu = GpuTarget(arch)
    most, found = _blocks(taken, arch), []
    for blocks in (most, *(count for count in (16, 8, 6, 4, 3, 2, 1) if count < most)):
        room = gpu.shared_memory // max(blocks, 1) // 128 * 128 - gpu.vendor.reserved
        fits = min(room, gpu.block_memory) - int(taken["shared"])
        found.append((fits, _share(blocks, taken, arch)))
    return found
