"""The known backends, one row each; the stages of a new one stand in `pipelines.py`.

A row has the name, the aliases, the function that makes the workflow, and the allocator of fields.
The first use of a backend makes its workflow, because settings may change until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...runtime.fields.field_constructor import FieldsOnCPU, FieldsOnGPU, GuardedFields
from ...runtime.process import classes
from ..graph.graph import Workflow
from . import pipelines
from .backend import Backend


@classes.frozen
class Row:
    """One backend."""

    name: str
    pipeline: Callable[[], Workflow]
    allocator: Any = None
    aliases: tuple[str, ...] = ()

    def backend(self, **options: Any) -> Backend:
        """Return the backend, with options of its stages."""
        made = Backend(self.name, self.pipeline, self.allocator)
        return made.with_options(**options) if options else made


CPU: Final = Row("cpu", pipelines.cpu, FieldsOnCPU(), aliases=("gtfn_cpu", "cpp_cpu"))
DACE_CPU: Final = Row("dace_cpu", pipelines.dace, FieldsOnCPU())
ROW_STEPS: Final = Row("rows", pipelines.rows, FieldsOnCPU())
REFERENCE: Final = Row("reference", pipelines.reference, FieldsOnCPU(), aliases=("itir_python",))
GPU: Final = Row("gpu", pipelines.gpu, FieldsOnGPU(), aliases=("gtfn_gpu", "cpp_gpu"))
GPU_HOST: Final = Row("gpu-host", pipelines.gpu_host, GuardedFields())
DACE_GPU: Final = Row("dace_gpu", pipelines.dace_gpu, FieldsOnGPU())
DACE_GPU_HOST: Final = Row("dace_gpu-host", pipelines.dace_gpu_host, FieldsOnCPU())

ROWS: Final = (CPU, ROW_STEPS, DACE_CPU, REFERENCE, GPU, GPU_HOST, DACE_GPU, DACE_GPU_HOST)
