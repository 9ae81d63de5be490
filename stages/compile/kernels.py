"""Compile CUDA or HIP in process, by NVRTC or hiprtc, for every architecture of a target.

It needs no GPU and releases the interpreter's lock.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ...runtime.calls.images import pack_images, unpack_images
from ...runtime.process import classes
from ...runtime.process.errors import CompilationError, CompilerNotFoundError
from ..artifacts import Compiled, Generated
from ..base import Artifact, Stage
from ..gpu_target import GPU_TARGET, GpuTarget
from ..option_kinds import TEXTS, option
from ..vendors.known import vendor_of
from .toolchain_protocol import Outcome, Toolchain
from .usage import usage


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
