"""The settings of compilers by gt4py's names, which clients read; fieldforge has its own."""

from __future__ import annotations

import enum
from typing import Final

from ...runtime.process import classes

CACHE_SETTINGS: Final = {
    "dir_name": ".gt_cache", "root_path": ".", "load_retries": 3, "load_retry_delay": 100,
}  # fmt: skip
"""Written by clients; results lie in the store of fieldforge."""


class CxxCompilerName(enum.StrEnum):
    """The families of C++ compilers."""

    DEFAULT = "unknown"


class GPUCompilerName(enum.StrEnum):
    """The compilers of GPU code."""

    NVCC = "nvcc"
    HIPCC = "hipcc"


@classes.frozen
class CxxCompilerDefaults:
    """The flags of a C++ compiler."""

    name: CxxCompilerName
    open_mp_flag: str
    enable_openmp: bool
    cxx_compile_flags: str


@classes.frozen
class GPUConfiguration:
    """Where a compiler of GPU code lies, and its flags."""

    name: GPUCompilerName
    gpu_compile_flags: list[str]
    binary_path: str
    include_path: str
    library_path: str
    arch: str | None = None
    host_compiler: str | None = None


def cxx_compiler_defaults(optimization_level: str) -> CxxCompilerDefaults:
    """Return the flags of the C++ compiler for a level of optimisation.

    >>> cxx_compiler_defaults("3").cxx_compile_flags
    '-O3'
    """
    return CxxCompilerDefaults(CxxCompilerName.DEFAULT, "-fopenmp", True, f"-O{optimization_level}")


def gpu_configuration(optimization_level: str) -> GPUConfiguration:
    """Return the places of the compiler of GPU code.

    >>> gpu_configuration("3").name
    <GPUCompilerName.NVCC: 'nvcc'>
    """
    root = "/usr/local/cuda"
    return GPUConfiguration(
        GPUCompilerName.NVCC,
        [f"-O{optimization_level}"],
        *(f"{root}/{folder}" for folder in ("bin", "include", "lib64")),
    )


def build_settings(optimization_level: str) -> dict[str, object]:
    """Return the settings of builds that clients read and write, without effect."""
    gpu, cxx = gpu_configuration(optimization_level), cxx_compiler_defaults(optimization_level)
    return {
        "cuda_bin_path": gpu.binary_path,
        "cuda_include_path": gpu.include_path,
        "cuda_library_path": gpu.library_path,
        "cuda_arch": gpu.arch,
        "gt_include_path": "",
        "openmp": {
            "use_openmp": True,
            "cppflags": [cxx.open_mp_flag],
            "ldflags": [cxx.open_mp_flag],
        },
        "extra_compile_args": {"cxx": cxx.cxx_compile_flags.split(), "cuda": []},
        "extra_link_args": [],
        "parallel_jobs": 1,
        "cpp_template_depth": 1024,
    }
