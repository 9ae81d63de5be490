"""What each compiled kernel takes of a multiprocessor: registers, spills, memory, occupancy.

NVRTC writes it in the log of its assembler, hiprtc in a note of the code object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..gpu_target import GpuTarget

_PTXAS: Final = re.compile(
    r"entry function '(\w+)' for '(\w+)'.*?"
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?"
    r"Used (\d+) registers([^\n]*)",
    re.DOTALL,
)
_STATIC: Final = re.compile(r"(\d+) bytes smem")
_LAUNCH: Final = re.compile(r"__launch_bounds__\((\d+)(?:, \d+)?\) (\w+)\(")
_NAMES_OF_AMD: Final = {
    "registers": b".vgpr_count", "spilled": b".vgpr_spill_count",
    "stack": b".private_segment_fixed_size", "shared": b".group_segment_fixed_size",
}  # fmt: skip
_NAME: Final = re.compile(rb"\.max_flat_workgroup_size.{1,5}\xa5\.name", re.DOTALL)
_PARTITIONS: Final = 4  # of a multiprocessor, each with its own registers
_RESERVED: Final = 1024  # bytes of shared memory that CUDA takes for each block
# How many blocks a multiprocessor holds, where it is not 32.
_MOST_BLOCKS: Final = {"sm_75": 16, "sm_86": 16, "sm_89": 24, "sm_120": 24, "sm_121": 24}
# A kernel whose shared memory the call gives: its arrays lie in that.
_DYNAMIC: Final = re.compile(
    r"__launch_bounds__\(\d+(?:, \d+)?\) (\w+)\((?:(?!\n}).)*?shared_array<", re.S
)

Usage = dict[str, Any]


def usage(log: str, source: str = "") -> dict[str, Usage]:
    """Return what kernels take, as 'k0 sm_90', from the log of NVRTC.

    `spilled`, `stack` and `shared` are bytes, `registers` those of a thread. With the source, each
    kernel has the `occupancy` that its blocks reach: the share of the threads that fit. Where the
    sizes of a call decide how much shared memory a block gets, that is the occupancy without any,
    and `occupancy_by_shared` lists what is left where a block gets at most so many bytes.

    >>> log = '''Compiling entry function 'k0' for 'sm_90'
    ...     8 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads
    ... ptxas info : Used 72 registers, 512 bytes smem'''
    >>> usage(log)
    {'k0 sm_90': {'registers': 72, 'spilled': 4, 'stack': 8, 'shared': 512}}
    >>> source = "KERNEL __launch_bounds__(256) k0(f64* p0) { ff::shared_array<f64> s(0, 8);"
    >>> usage(log, source)["k0 sm_90"]["occupancy_by_shared"]
    [(76288, 0.375), (115200, 0.25), (231936, 0.125)]
    """
    launches = _launches(source)
    found: dict[str, Usage] = {}
    for kernel, arch, stack, stores, loads, registers, rest in _PTXAS.findall(log):
        static = _STATIC.search(rest)
        taken: Usage = {
            "registers": int(registers),
            "spilled": int(stores) + int(loads),
            "stack": int(stack),
            "shared": int(static[1]) if static else 0,
        }
        found[f"{kernel} {arch}"] = _with_occupancy(taken, arch, launches.get(kernel))
    return found


def usage_of_amd(images: Mapping[str, bytes], source: str = "") -> dict[str, Usage]:
    """Return the same from code objects, by the notes that they hold; spills are in registers."""
    launches = _launches(source)
    found: dict[str, Usage] = {}
    for arch, image in images.items():
        for name, note in _notes(image):
            taken: Usage = {own: _number(note, key) for own, key in _NAMES_OF_AMD.items()}
            found[f"{name} {arch}"] = _with_occupancy(taken, arch, launches.get(name))
    return found


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
    blocks = min(_MOST_BLOCKS.get(arch, 32), gpu.max_threads // (warps * gpu.wavefront))
    if registers:
        blocks = min(blocks, gpu.registers // _PARTITIONS // registers * _PARTITIONS // warps)
    if taken["shared"]:
        blocks = min(blocks, gpu.shared_memory // (int(taken["shared"]) + _reserved(gpu)))
    return blocks


def _by_shared(taken: Usage, arch: str) -> list[tuple[int, float]]:
    """Return the most bytes of shared memory with which so many blocks fit, and the occupancy."""
    gpu = GpuTarget(arch)
    most, found = _blocks(taken, arch), []
    for blocks in (most, *(count for count in (16, 8, 6, 4, 3, 2, 1) if count < most)):
        room = gpu.shared_memory // max(blocks, 1) // 128 * 128 - _reserved(gpu)
        fits = min(room, gpu.block_memory) - int(taken["shared"])
        found.append((fits, _share(blocks, taken, arch)))
    return found


def _reserved(gpu: GpuTarget) -> int:
    return _RESERVED if gpu.vendor == "nvidia" else 0


# --- notes of AMD: a map in MessagePack ---------------------------------------------------------


def _notes(image: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each kernel with the end of its note: a map whose keys are sorted."""
    for found in _NAME.finditer(image):
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
