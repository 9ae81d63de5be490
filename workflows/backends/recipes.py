"""The backends as functions with keyword options, the options of their stages."""

from __future__ import annotations

from typing import Any

from . import pipelines
from .backend import CPU, DACE_CPU, DACE_GPU, GPU, REFERENCE, Backend


def cpu(**options: Any) -> Backend:
    """Return the backend that writes C++ and compiles it for this machine.

    Options are those of its stages: `cpu(fold=False, target=CpuTarget(isa="x86-64-v3"))`.
    """
    return CPU.backend(**options)


def dace(**options: Any) -> Backend:
    """Return the backend that writes its C++ with DaCe; it needs the extra 'dace' to build."""
    return DACE_CPU.backend(**options)


def gpu(**options: Any) -> Backend:
    """Return the backend that writes CUDA or HIP and compiles it in process, by NVRTC or hiprtc.

    `gpu(target=GpuTarget("gfx90a"))` names a GPU that need not be there.
    """
    return GPU.backend(**options)


def dace_gpu(**options: Any) -> Backend:
    """Return the backend that writes CUDA or HIP with DaCe and compiles it by nvcc or hipcc.

    `dace_gpu(target=GpuTarget("gfx90a"))` names a GPU that need not be there.
    """
    return DACE_GPU.backend(**options)


def reference(**options: Any) -> Backend:
    """Return the backend that interprets the dataflow IR with NumPy: slow, and the oracle."""
    return REFERENCE.backend(**options)


def registry() -> dict[str, Any]:
    """Return the names in the text of our own workflows, for `Workflow.parse`."""
    return pipelines.registry()
