"""The ready-made backends, one row each, and the search by name.

A row has the name, the aliases, the function that makes the workflow, which stands in
`pipelines.py`, and the allocator of fields. The first use of a backend makes its workflow, because
settings may change until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...runtime.fields.field_constructor import FieldsOnCPU, FieldsOnGPU, GuardedFields
from ...runtime.process import classes
from ...runtime.process.errors import OptionError
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


_MADE: Final = {row: row.backend() for row in ROWS}
# By name, then by alias.
BACKENDS: Final[dict[str, Backend]] = {row.name: made for row, made in _MADE.items()} | {
    alias: made for row, made in _MADE.items() for alias in row.aliases
}

cpu: Final = BACKENDS["cpu"]
dace_cpu: Final = BACKENDS["dace_cpu"]
reference: Final = BACKENDS["reference"]
gpu: Final = BACKENDS["gpu"]
gpu_host: Final = BACKENDS["gpu-host"]
dace_gpu: Final = BACKENDS["dace_gpu"]
gtfn_cpu: Final = BACKENDS["gtfn_cpu"]
gtfn_gpu: Final = BACKENDS["gtfn_gpu"]
itir_python: Final = BACKENDS["itir_python"]


def names_of_backend(name: str) -> tuple[str, ...]:
    """Return a backend's name and its aliases.

    >>> names_of_backend("gpu")
    ('gpu', 'gtfn_gpu', 'cpp_gpu')
    """
    return next(((row.name, *row.aliases) for row in ROWS if row.name == name), (name,))


def find_backend(given: Backend | str | None) -> Backend | None:
    """Return a backend by name in any case, or the one given; 'none' and 'embedded' are None.

    >>> find_backend("cpu").name, find_backend("GTFN_CPU").name
    ('cpu', 'cpu')
    """
    if given is None or isinstance(given, Backend):
        return given
    if isinstance(given, str):
        name = given.lower()
        if name in ("none", "embedded"):
            return None
        if name in BACKENDS:
            return BACKENDS[name]
        raise OptionError(f"There is no backend '{given}'.", name=given, known=[*BACKENDS, "none"])
    raise OptionError(
        f"A backend is a 'Backend', the name of one, or None, got '{given!r}'.", known=BACKENDS
    )
