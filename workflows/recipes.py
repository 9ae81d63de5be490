"""The backends: functions with keyword options that return a `Backend`.

The stages behind `parse` are imported when a workflow is first looked at, which
keeps a third of the package out of `import fieldforge`.
"""

from __future__ import annotations

from typing import Any

from ..runtime.allocator import CPUAllocator
from ..runtime.errors import OptionError
from .backend import Backend
from .graph import Workflow


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


def gpu() -> Backend:
    """Return the backend for GPUs, which models name at import; using it is an error so far."""
    return Backend("gpu", _gpu)


def reference(**options: Any) -> Backend:
    """Return the backend that interprets the dataflow IR with NumPy: slow, and the oracle."""
    backend = Backend("reference", _reference, CPUAllocator())
    return backend.with_options(**options) if options else backend


def registry() -> dict[str, Any]:
    """Return what `Workflow.parse` needs to read the text of our own workflows."""
    from . import pipelines

    return pipelines.registry()


def read_workflow(text: str, **more: Any) -> Workflow:
    """Read the text of a workflow made of our own stages, and of `more` by name.

    >>> str(read_workflow("parse -> lower(fold=False)"))
    'parse -> lower(fold=False)'
    """
    return Workflow.parse(text, {**registry(), **more})


def _cpu() -> Workflow:
    from . import pipelines

    return pipelines.cpu()


def _dace() -> Workflow:
    from . import pipelines

    return pipelines.dace()


def _gpu() -> Workflow:
    raise OptionError(
        "Backend 'gpu' is not supported yet.", hints=["Select 'cpu' with 'with_backend'."]
    )


def _reference() -> Workflow:
    from . import pipelines

    return pipelines.reference()
