"""The workflows of the backends, each a chain of stages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cache.root import PINS, VERSION
from ...runtime.process import CompilerNotFoundError, current
from ...stages import CpuTarget, Patches, Stage, ThreadBlock, ThreadPoints
from ...stages.bind.stage import Bind
from ...stages.codegen.cpu.stage import Codegen
from ...stages.compile.stage import Compile
from ...stages.decorate.stage import Load
from ...stages.lower.stage import Lower
from ...stages.parse.stage import Parse
from ..graph.edges import chain_edges
from ..graph.graph import Workflow

if TYPE_CHECKING:  # imported with the stages for GPUs, see decision 0005
    from ...stages.gpu_target import GpuTarget


def cpu() -> Workflow:
    """Write C++, compile it, and load the library into the native call path."""
    return Workflow.chain(Parse(), Lower(), Codegen(_target()), _compiler(), Bind(), Load())


def rows() -> Workflow:
    """Encode the loops, and let the native core interpret them: no compiler."""
    from ...stages.decorate.stage import LoadRows
    from ...stages.encode.stage import Encode

    return Workflow.chain(Parse(), Lower(), Encode(), Bind(), LoadRows())


def dace() -> Workflow:
    """Write the C++ with DaCe's code generator; the other stages are those of `cpu`."""
    from ...stages.codegen.dace.stage import CodegenDace

    return cpu().replace(codegen=CodegenDace(_target()))


def gpu() -> Workflow:
    """Write CUDA or HIP, compile it in process, and give the native core the plan of launches."""
    from ...stages.codegen.gpu.stage import CodegenGpu
    from ...stages.compile.kernels import CompileKernels
    from ...stages.decorate.stage import LoadKernels

    target = _gpu_target()
    nodes: tuple[tuple[str, Stage], ...] = (
        ("parse", Parse()), ("lower", Lower()), ("codegen", CodegenGpu(target)),
        ("compile", CompileKernels(target)), ("bind", Bind()), ("decorate", LoadKernels()),
    )  # fmt: skip
    return Workflow(nodes, chain_edges(nodes))


def gpu_host() -> Workflow:
    """Compile the kernels of `gpu` for the host, and run them in turn on the null platform."""
    from ...stages.codegen.gpu.stage import CodegenGpu
    from ...stages.decorate.stage import LoadKernels

    return cpu().replace(codegen=CodegenGpu(host=True), decorate=LoadKernels())


def dace_gpu() -> Workflow:
    """Write CUDA or HIP with DaCe's code generator, and compile it by nvcc or hipcc."""
    from ...stages.codegen.dace.gpu.stage import CodegenDaceGpu

    target = _gpu_target()
    return cpu().replace(codegen=CodegenDaceGpu(target), compile=_library_compiler(target))


def dace_gpu_host() -> Workflow:
    """Compile the kernels of `dace_gpu` for the host, and run their threads in turn."""
    from ...stages.codegen.dace.gpu.stage import CodegenDaceGpu

    return cpu().replace(codegen=CodegenDaceGpu(host=True))


def reference() -> Workflow:
    """Interpret the dataflow IR."""
    from ...stages.interpret.stage import Interpret

    return Workflow.chain(Parse(), Lower(), Interpret())


def stages() -> Mapping[str, type[Stage]]:
    """Return every stage of ours by name."""
    from ...stages.codegen.dace.gpu.stage import CodegenDaceGpu
    from ...stages.codegen.dace.stage import CodegenDace
    from ...stages.codegen.gpu.stage import CodegenGpu
    from ...stages.compile.device_library import CompileLibrary
    from ...stages.compile.kernels import CompileKernels
    from ...stages.decorate.stage import LoadKernels, LoadRows
    from ...stages.encode.stage import Encode
    from ...stages.gtscript.stage import LowerStencil, ParseStencil
    from ...stages.interpret.stage import Interpret

    known: tuple[type[Stage], ...] = (
        *(Parse, Lower, Codegen, Compile, Bind, Load),
        *(CodegenDace, CodegenDaceGpu, CompileLibrary),
        *(CodegenGpu, CompileKernels, LoadKernels, Interpret),
        *(Encode, LoadRows, ParseStencil, LowerStencil),
    )
    return {stage.name: stage for stage in known}


def registry() -> dict[str, Any]:
    """Return the names in the text of our own workflows, for `Workflow.parse`."""
    from ...stages.gpu_target import GpuTarget

    values = (CpuTarget, GpuTarget, Patches, ThreadBlock, ThreadPoints)
    return {
        **stages(),
        "compile": _compiler(),
        "compile_library": _library_compiler(GpuTarget("sm_90")),
        "Target": CpuTarget,
        **{kind.__name__: kind for kind in values},
    }


def _compiler() -> Compile:
    settings = current()
    return Compile(
        cxx=settings.cxx,
        variables=settings.compiler_variables,
        directory=settings.cache_dir / VERSION,
        pins=_places(),
    )


def _library_compiler(target: GpuTarget) -> Stage:
    from ...stages.compile.device_library import CompileLibrary

    settings = current()
    return CompileLibrary(
        target,
        cxx=settings.cxx,
        variables=settings.compiler_variables,
        directory=settings.cache_dir / VERSION,
    )


def _target() -> CpuTarget:
    """Return this machine; without a compiler, return the target that its packs were built for."""
    if not any(place.is_file() or (place / VERSION / PINS).is_file() for place in _places()):
        return CpuTarget.host()
    from ...stages.compile.pins import find_pin

    pin = find_pin(_places())
    return CpuTarget.host() if pin is None or _has_compiler() else pin.target


def _gpu_target() -> GpuTarget:
    """Return the GPU of the settings, or of this process; without one, the most common target."""
    from ...runtime import gpu as devices
    from ...runtime.gpu.platform import PLATFORMS
    from ...stages.gpu_target import GPU_TARGET, KNOWN_ARCHS, GpuTarget

    wanted = current().gpu_arch
    if wanted is not None:
        chosen: GpuTarget = GPU_TARGET.taken("FIELDFORGE_GPU_ARCH", wanted)
        return chosen
    if devices.platform() in PLATFORMS:
        arch = devices.Device(0).arch
        if arch in KNOWN_ARCHS:
            return GpuTarget(arch)
    return GpuTarget("sm_90")


def _has_compiler() -> bool:
    try:
        _compiler().compiler()
    except CompilerNotFoundError:
        return False
    return True


def _places() -> tuple[Path, ...]:
    settings = current()
    return (*settings.cache_layers, settings.cache_dir)
