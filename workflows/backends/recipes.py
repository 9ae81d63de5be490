"""The backends: functions with keyword options that return a `Backend`.

A workflow is made when it is first looked at: settings may change until then.
"""

from __future__ import annotations

from typing import Any

from ...runtime.fields.allocator import CPUAllocator, GPUAllocator
from ..graph.graph import Workflow
from . import pipelines
from .backend import Backend


def cpu(**options: Any) -> Backend:
    """Return the backend that writes C++ and compiles it for this machine.

    Options are those of its stages: `cpu(fold=False, target=Target(isa="x86-64-v3"))`.
    """
    backend = Backend("cpu", _cpu, CPUAllocator())
    return backend.with_options(**options) if options else backend


def dace(**options: Any) -> Backend:
    """Return the backend that writes its C++ with DaCe; it needs the extra 'dace' to build."""
    backend = Backend("dace_cpu", _dace, CPUAllocator())
    return backend.with_options(**options) if options else backend


def gpu(**options: Any) -> Backend:
    """Return the backend for GPUs, which models name at import.

    To allocate or to build by it is an error so far.
    """
    backend = Backend("gpu", _gpu, GPUAllocator())
    return backend.with_options(**options) if options else backend


def dace_gpu(**options: Any) -> Backend:
    """Return the backend for GPUs by DaCe; to allocate or to build by it is an error so far."""
    backend = Backend("dace_gpu", _dace_gpu, GPUAllocator())
    return backend.with_options(**options) if options else backend


def reference(**options: Any) -> Backend:
    """Return the backend that interprets the dataflow IR with NumPy: slow, and the oracle."""
    backend = Backend("reference", _reference, CPUAllocator())
    return backend.with_options(**options) if options else backend


def registry() -> dict[str, Any]:
    """Return what `Workflow.parse` needs to read the text of our own workflows."""
    return pipelines.registry()


def read_workflow(text: str, **more: Any) -> Workflow:
    """Read the text of a workflow made of our own stages, and of `more` by name.

    >>> str(read_workflow("parse -> lower(fold=False)"))
    'parse -> lower(fold=False)'
    """
    return Workflow.parse(text, {**registry(), **more})


def _cpu() -> Workflow:
    return pipelines.cpu()


def _dace() -> Workflow:
    return pipelines.dace()


def _gpu() -> Workflow:
    return pipelines.gpu()


def _dace_gpu() -> Workflow:
    return pipelines.dace_gpu()


def _reference() -> Workflow:
    return pipelines.reference()
