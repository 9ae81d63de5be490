"""The backends as functions with keyword options, the options of their stages."""

from __future__ import annotations

from typing import Any

from ..graph.graph import Workflow
from . import pipelines, rows
from .backend import Backend


def cpu(**options: Any) -> Backend:
    """Return the backend that writes C++ and compiles it for this machine.

    Options are those of its stages: `cpu(fold=False, target=CpuTarget(isa="x86-64-v3"))`.
    """
    return rows.CPU.backend(**options)


def dace(**options: Any) -> Backend:
    """Return the backend that writes its C++ with DaCe; it needs the extra 'dace' to build."""
    return rows.DACE_CPU.backend(**options)


def gpu(**options: Any) -> Backend:
    """Return the backend that writes CUDA or HIP and compiles it in process, by NVRTC or hiprtc.

    `gpu(target=GpuTarget("gfx90a"))` names a GPU that need not be there.
    """
    return rows.GPU.backend(**options)


def dace_gpu(**options: Any) -> Backend:
    """Return the backend for GPUs by DaCe; to allocate or to build by it is an error so far."""
    return rows.DACE_GPU.backend(**options)


def reference(**options: Any) -> Backend:
    """Return the backend that interprets the dataflow IR with NumPy: slow, and the oracle."""
    return rows.REFERENCE.backend(**options)


def registry() -> dict[str, Any]:
    """Return what `Workflow.parse` needs to read the text of our own workflows."""
    return pipelines.registry()


def read_workflow(text: str, **more: Any) -> Workflow:
    """Read the text of a workflow made of our own stages, and of `more` by name.

    >>> str(read_workflow("parse -> lower(fold=False)"))
    'parse -> lower(fold=False)'
    """
    return Workflow.parse(text, {**registry(), **more})
