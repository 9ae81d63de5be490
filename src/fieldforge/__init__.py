"""Stencil programs written in Python, compiled to the speed of memory.

>>> import fieldforge as ff
>>> I = ff.Dimension("I")
>>> Line = ff.Field[ff.Dims[I], ff.float64]
>>> @ff.field_operator(backend=None)
... def rise(u: Line) -> Line:
...     return u(I + 1) - u
>>> out = ff.zeros({I: 3})
>>> rise(ff.as_field([I], [1.0, 2.0, 4.0, 8.0]), out=out)
>>> out.asnumpy()
array([1., 2., 4.])
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Final as _Final

from . import errors
from .runtime.calls.call_limits import threads, workspace
from .runtime.embedded.builtins import *  # noqa: F403  (the builtins of the language, by their '__all__')
from .runtime.embedded.builtins import __all__ as _builtins
from .runtime.fields.constructors import (
    as_connectivity,
    as_field,
    empty,
    from_xarray,
    full,
    ones,
    zeros,
)
from .runtime.fields.device import Device, DeviceType
from .runtime.fields.field import Field
from .runtime.fields.field_constructor import FieldConstructor
from .runtime.fields.neighbour_table import Connectivity
from .runtime.language.annotations import Dims
from .runtime.language.connectivity import CartesianConnectivity, FieldOffset, GridType
from .runtime.language.dimension import (
    Dimension,
    DimensionKind,
    as_non_staggered,
    flip_staggered,
    is_staggered,
)
from .runtime.language.domain import Domain, UnitRange, domain, unit_range
from .runtime.language.namespace import FrozenNamespace
from .runtime.process import settings as _settings
from .runtime.process.excepthook import install_excepthook as _install_excepthook
from .workflows.backends import recipes
from .workflows.backends.backend import Backend
from .workflows.backends.ready_made import (
    cpu,
    dace_cpu,
    dace_gpu,
    gpu,
    gpu_host,
    gtfn_cpu,
    gtfn_gpu,
    itir_python,
    reference,
)
from .workflows.engine.engine import Engine
from .workflows.engine.events import Collector
from .workflows.engine.session import engine, using
from .workflows.entries.decorators import field_operator, program, scan_operator
from .workflows.entries.recording import record
from .workflows.graph.function_stage import Text, stage
from .workflows.graph.graph import Workflow

if _TYPE_CHECKING:
    from ._core.definitions import CUPY_DEVICE_TYPE as CUPY_DEVICE_TYPE
    from ._core.definitions import is_scalar_type
    from .runtime.fields.boundaries import fill_halo
    from .runtime.fields.reductions import max as max
    from .runtime.fields.reductions import min as min
    from .runtime.fields.reductions import norm
    from .runtime.fields.reductions import sum as sum
    from .runtime.meshes.files import read_mesh
    from .runtime.meshes.mesh import Mesh
    from .workflows.batches.collective import collective
    from .workflows.batches.lock_file import locking
    from .workflows.batches.missing_builds import check
    from .workflows.batches.precompile import precompile
    from .workflows.builds.background import wait_for_compilation
    from .workflows.engine.policy import policy
    from .workflows.export.export import export
    from .workflows.options.database import use_options
    from .workflows.setups.plan import plan
    from .workflows.setups.set_up import setup
    from .workflows.summaries.report import report
    from .workflows.tuning.tune import tune

__version__ = "0.1.0"

# 'sum', 'max' and 'min' are not listed: a star import must not hide Python's.
__all__ = [
    "Backend",
    "CartesianConnectivity",
    "Collector",
    "Connectivity",
    "Device",
    "DeviceType",
    "Dimension",
    "DimensionKind",
    "Dims",
    "Domain",
    "Engine",
    "Field",
    "FieldConstructor",
    "FieldOffset",
    "FrozenNamespace",
    "GridType",
    "Mesh",
    "Text",
    "UnitRange",
    "Workflow",
    "as_connectivity",
    "as_field",
    "as_non_staggered",
    "check",
    "collective",
    "cpu",
    "dace_cpu",
    "dace_gpu",
    "domain",
    "empty",
    "engine",
    "errors",
    "export",
    "field_operator",
    "fill_halo",
    "flip_staggered",
    "from_xarray",
    "full",
    "gtfn_cpu",
    "gpu",
    "gpu_host",
    "gtfn_gpu",
    "is_scalar_type",
    "is_staggered",
    "itir_python",
    "locking",
    "norm",
    "ones",
    "plan",
    "policy",
    "precompile",
    "program",
    "read_mesh",
    "recipes",
    "record",
    "report",
    "reference",
    "scan_operator",
    "setup",
    "stage",
    "threads",
    "tune",
    "unit_range",
    "use_options",
    "using",
    "wait_for_compilation",
    "workspace",
    "zeros",
    *_builtins,
]

_LATE: _Final = {
    "CUPY_DEVICE_TYPE": "._core.definitions",
    "check": ".workflows.batches.missing_builds",
    "collective": ".workflows.batches.collective",
    "is_scalar_type": "._core.definitions",
    "max": ".runtime.fields.reductions",
    "min": ".runtime.fields.reductions",
    "norm": ".runtime.fields.reductions",
    "export": ".workflows.export.export",
    "fill_halo": ".runtime.fields.boundaries",
    "locking": ".workflows.batches.lock_file",
    "plan": ".workflows.setups.plan",
    "policy": ".workflows.engine.policy",
    "precompile": ".workflows.batches.precompile",
    "Mesh": ".runtime.meshes.mesh",
    "read_mesh": ".runtime.meshes.files",
    "report": ".workflows.summaries.report",
    "setup": ".workflows.setups.set_up",
    "sum": ".runtime.fields.reductions",
    "tune": ".workflows.tuning.tune",
    "use_options": ".workflows.options.database",
    "wait_for_compilation": ".workflows.builds.background",
}
_MODULES: _Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("allocators", "backend", "common", "config", "constructors", "custom_layout_allocators",
         "eve", "experimental", "field_utils", "named_collections", "typing", "utils"),
        (),
    ),
    "embedded": ("exceptions", "nd_array_field"),
    "ffront": ("decorator", "experimental", "fbuiltins"),
    "instrumentation": ("gpu_profiler", "hook_machinery", "hooks", "metrics"),
    "program_processors": ("runners.dace", "runners.gtfn"),
    "type_system": ("type_specifications", "type_translation"),
}  # fmt: skip

if not _TYPE_CHECKING:  # with it, type checkers would accept every name

    def __getattr__(name: str) -> object:
        """Import names that few programs use on first use, see decision 0005."""
        from importlib import import_module

        if name in _LATE:
            return getattr(import_module(_LATE[name], __name__), name)
        if name in _MODULES:
            for inner in _MODULES[name]:
                import_module(f".{name}.{inner}", __name__)
            return import_module(f".{name}", __name__)
        raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATE, *_MODULES})


_install_excepthook(lambda: _settings.current().verbose_exceptions)
