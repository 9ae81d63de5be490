"""Counterpart of `gt4py.cartesian.utils.compiler`."""

from ...workflows.cartesian.compilers import (
    CxxCompilerDefaults,
    CxxCompilerName,
    GPUCompilerName,
    GPUConfiguration,
    cxx_compiler_defaults,
    gpu_configuration,
)

__all__ = [
    "CxxCompilerDefaults",
    "CxxCompilerName",
    "GPUCompilerName",
    "GPUConfiguration",
    "cxx_compiler_defaults",
    "gpu_configuration",
]
