"""Compile CUDA or HIP in process, by NVRTC or hiprtc, for every architecture of a target.

It needs no GPU and releases the interpreter's lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ...runtime.calls.images import pack_images, unpack_images
from ...runtime.process import CompilationError, CompilerNotFoundError, classes
from .. import TEXTS, Artifact, Compiled, Generated, Stage, option
from ..gpu_target import GPU_TARGET, GpuTarget
from ..vendors.known import GPUS, vendor_of
from ..vendors.vendor import Usage, Vendor
from .toolchain_protocol import Outcome, Toolchain


@classes.frozen
class KernelToolchain:
    """The run-time compiler of a vendor, for some architectures of its GPUs."""

    archs: tuple[str, ...]

    @property
    def identity(self) -> str:
        """Name and version of the library: NVRTC 12.9."""
        from ...runtime.gpu.compiler import runtime_compiler
        from ...runtime.gpu.errors import GpuError

        try:
            library = runtime_compiler(self.archs[0])
        except GpuError as error:
            raise CompilerNotFoundError(error.message, hints=error.hints) from error
        return library.label

    def compile(self, source: str, flags: Sequence[str]) -> Outcome:
        """Compile for each architecture; the library is all modules in one."""
        from ...runtime.gpu.compiler import compile_with_log
        from ...runtime.gpu.errors import KernelCompileError

        identity = self.identity
        images, logs = {}, []
        for arch in self.archs:
            try:
                images[arch], log = compile_with_log(source, arch, flags, "program")
            except KernelCompileError as error:
                if error.name == "INVALID_OPTION":
                    raise CompilationError(error.message, hints=error.hints) from error
                raise CompilationError(
                    f"{identity} does not compile the kernels for '{arch}'.",
                    command=_command(identity, flags), log=error.log or error.message,
                ) from error  # fmt: skip
            logs.append(log)
        return Outcome(pack_images(images), "\n".join(logs))


def _command(identity: str, flags: Sequence[str]) -> tuple[str, ...]:
    return (identity.partition(" ")[0].lower(), *flags)


@classes.frozen
class CompileKernels(Stage):
    """Compile the generated kernels; the compiler's version is part of the key.

    Attributes:
        target: the GPU that decides whose compiler it is; the same as that of codegen.
        flags: added after those that codegen asked for.

    """

    name: ClassVar[str] = "compile_kernels"
    needs: ClassVar[tuple[str, ...]] = ("generated",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"compiled": Compiled}

    target: GpuTarget = option(GPU_TARGET, factory=lambda: GpuTarget("sm_90"))
    flags: tuple[str, ...] = option(TEXTS, ())

    def run(self, *, generated: Generated) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Run the compiler once for each architecture."""
        archs = tuple(flag[5:] for flag in generated.flags if flag.startswith("arch="))
        toolchain: Toolchain = KernelToolchain(archs)
        options = [flag for flag in generated.flags if not flag.startswith("arch=")]
        flags = (*options, *self.flags)
        done = toolchain.compile(generated.source, flags)
        vendor, images = vendor_of(archs[0]), unpack_images(done.library)
        manifest = {
            "compiler": toolchain.identity,
            "architectures": list(archs),
            "flags": list(flags),
            "language": generated.language,
            "bytes": len(done.library),
            "kernels": usage(vendor, done.log, images, generated.source),
        }
        text = json.dumps(manifest, indent=1, sort_keys=True)
        return {"compiled": Compiled(done.library, text, done.log)}

    def environment(self) -> Mapping[str, str]:
        """Return name and version of the compiler."""
        return {"compiler": KernelToolchain(self.target.archs).identity}


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
