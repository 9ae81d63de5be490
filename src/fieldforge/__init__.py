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

from typing import TYPE_CHECKING as _TYPE_CHECKING, Final as _Final

from .runtime.start.own_modules import find_own_modules as _find_own_modules

_find_own_modules(__spec__)  # before more modules are imported

from .runtime.start.excepthook import install_excepthook as _install_excepthook  # noqa: E402

if _TYPE_CHECKING:  # else a name is imported when it is first used, see '_PLACES'
    from . import errors
    from ._core.definitions import CUPY_DEVICE_TYPE as CUPY_DEVICE_TYPE, is_scalar_type
    from .runtime.calls.boundaries import fill_halo, fill_halo_adjoint
    from .runtime.calls.call_limits import threads, workspace
    from .runtime.embedded.builtins import *  # noqa: F403  (the builtins of the language, by their '__all__')
    from .runtime.embedded.differentiation import jvp, vjp
    from .runtime.fields.constructors import (
        as_connectivity,
        as_field,
        empty,
        from_xarray,
        full,
        ones,
        zeros,
    )
    from .runtime.fields.field import Field
    from .runtime.fields.field_constructor import FieldConstructor
    from .runtime.fields.neighbour_table import Connectivity
    from .runtime.fields.reductions import max as max, min as min, norm, sum as sum
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
    from .runtime.meshes.isolated import read_mesh
    from .runtime.meshes.mesh import Mesh
    from .runtime.meshes.transposed_fields import transposed_field
    from .runtime.meshes.transposed_tables import transposed
    from .runtime.process.device import Device, DeviceType
    from .stages.sizes import Patches, ThreadBlock, ThreadPoints
    from .workflows.backends import recipes
    from .workflows.backends.backend import (
        Backend,
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
    from .workflows.batches.collective import collective
    from .workflows.batches.lock_file import locking
    from .workflows.batches.orders import check
    from .workflows.batches.precompile import precompile
    from .workflows.builds.background import wait_for_compilation
    from .workflows.derivatives.derivative import adjoint, tangent
    from .workflows.derivatives.explaining import explain
    from .workflows.derivatives.gradient import gradient
    from .workflows.engine.engine import Engine, engine, using
    from .workflows.engine.events import Collector
    from .workflows.engine.policy import policy
    from .workflows.entries.decorators import field_operator, program, scan_operator
    from .workflows.entries.recording import record
    from .workflows.export.export import export
    from .workflows.graph.function_stage import Text, stage
    from .workflows.graph.graph import Workflow
    from .workflows.options.database import use_options
    from .workflows.reversing.differentiable import differentiable
    from .workflows.reversing.loop import reversed_loop
    from .workflows.setups.model_plan import plan
    from .workflows.setups.set_up import setup
    from .workflows.summaries.report import report
    from .workflows.tuning.tune import tune

__version__ = "0.1.0"

# In the order of the builtins of the language.
_BUILTINS: _Final = (
    "bool", "float", "float32", "float64", "int", "int8", "int16", "int32", "int64", "tuple",
    "uint8", "uint16", "uint32", "uint64", "IndexType", "neighbor_sum", "max_over", "min_over",
    "where", "broadcast", "astype", "minimum", "maximum", "power", "fmod", "abs", "neg", "sqrt",
    "exp", "log", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "arcsinh", "arccosh", "arctanh", "cbrt", "gamma", "floor", "ceil", "trunc", "isfinite", "isinf",
    "isnan",
)  # fmt: skip

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
    "Patches",
    "Text",
    "ThreadBlock",
    "ThreadPoints",
    "UnitRange",
    "Workflow",
    "adjoint",
    "as_connectivity",
    "as_field",
    "as_non_staggered",
    "check",
    "collective",
    "cpu",
    "dace_cpu",
    "dace_gpu",
    "differentiable",
    "domain",
    "empty",
    "engine",
    "errors",
    "explain",
    "export",
    "field_operator",
    "fill_halo",
    "fill_halo_adjoint",
    "flip_staggered",
    "from_xarray",
    "full",
    "gtfn_cpu",
    "gpu",
    "gpu_host",
    "gtfn_gpu",
    "gradient",
    "is_scalar_type",
    "is_staggered",
    "itir_python",
    "jvp",
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
    "reversed_loop",
    "reference",
    "scan_operator",
    "setup",
    "stage",
    "tangent",
    "threads",
    "transposed",
    "transposed_field",
    "tune",
    "unit_range",
    "use_options",
    "using",
    "vjp",
    "wait_for_compilation",
    "workspace",
    "zeros",
    *_BUILTINS,
]

_LANGUAGE: _Final = ".runtime.embedded.builtins"
_PLACES: _Final[dict[str, tuple[str, ...]]] = {
    "._core.definitions": ("CUPY_DEVICE_TYPE", "is_scalar_type"),
    ".runtime.calls.call_limits": ("threads", "workspace"),
    _LANGUAGE: _BUILTINS,
    ".runtime.calls.boundaries": ("fill_halo", "fill_halo_adjoint"),
    ".runtime.embedded.differentiation": ("jvp", "vjp"),
    ".runtime.fields.constructors": (
        "as_connectivity", "as_field", "empty", "from_xarray", "full", "ones", "zeros",
    ),
    ".runtime.process.device": ("Device", "DeviceType"),
    ".runtime.fields.field": ("Field",),
    ".runtime.fields.field_constructor": ("FieldConstructor",),
    ".runtime.fields.neighbour_table": ("Connectivity",),
    ".runtime.fields.reductions": ("max", "min", "norm", "sum"),
    ".runtime.meshes.transposed_fields": ("transposed_field",),
    ".runtime.meshes.transposed_tables": ("transposed",),
    ".runtime.language.annotations": ("Dims",),
    ".runtime.language.connectivity": ("CartesianConnectivity", "FieldOffset", "GridType"),
    ".runtime.language.dimension": (
        "Dimension", "DimensionKind", "as_non_staggered", "flip_staggered", "is_staggered",
    ),
    ".runtime.language.domain": ("Domain", "UnitRange", "domain", "unit_range"),
    ".runtime.language.namespace": ("FrozenNamespace",),
    ".runtime.meshes.isolated": ("read_mesh",),
    ".runtime.meshes.mesh": ("Mesh",),
    ".stages.sizes": ("Patches", "ThreadBlock", "ThreadPoints"),
    ".workflows.backends": ("recipes",),
    ".workflows.backends.backend": (
        "Backend", "cpu", "dace_cpu", "dace_gpu", "gpu", "gpu_host", "gtfn_cpu", "gtfn_gpu",
        "itir_python", "reference",
    ),
    ".workflows.batches.collective": ("collective",),
    ".workflows.batches.lock_file": ("locking",),
    ".workflows.batches.orders": ("check",),
    ".workflows.batches.precompile": ("precompile",),
    ".workflows.builds.background": ("wait_for_compilation",),
    ".workflows.engine.engine": ("Engine", "engine", "using"),
    ".workflows.engine.events": ("Collector",),
    ".workflows.engine.policy": ("policy",),
    ".workflows.entries.decorators": ("field_operator", "program", "scan_operator"),
    ".workflows.derivatives.derivative": ("adjoint", "tangent"),
    ".workflows.derivatives.explaining": ("explain",),
    ".workflows.derivatives.gradient": ("gradient",),
    ".workflows.entries.recording": ("record",),
    ".workflows.export.export": ("export",),
    ".workflows.graph.function_stage": ("Text", "stage"),
    ".workflows.graph.graph": ("Workflow",),
    ".workflows.options.database": ("use_options",),
    ".workflows.reversing.differentiable": ("differentiable",),
    ".workflows.reversing.loop": ("reversed_loop",),
    ".workflows.setups.model_plan": ("plan",),
    ".workflows.setups.set_up": ("setup",),
    ".workflows.summaries.report": ("report",),
    ".workflows.tuning.tune": ("tune",),
}  # fmt: skip
_LATE: _Final = {name: place for place, names in _PLACES.items() for name in names}
_MODULES: _Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("allocators", "backend", "common", "config", "constructors",
         "custom_layout_allocators", "eve", "experimental", "field_utils", "named_collections",
         "storage", "typing", "utils"),
        (),
    ),
    "cartesian": ("backend", "definitions", "gtscript", "lazy_stencil", "stencil_builder",
                  "stencil_object"),
    "embedded": ("exceptions", "nd_array_field"),
    "errors": ("exceptions",),
    "ffront": ("decorator", "experimental", "fbuiltins"),
    "instrumentation": ("gpu_profiler", "hook_machinery", "hooks", "metrics"),
    "program_processors": ("runners.dace", "runners.gtfn"),
    "type_system": ("type_specifications", "type_translation"),
}  # fmt: skip

# What only programs written for gt4py import, from the places that it has there; `dir` hides it.
_OF_GT4PY: _Final = (
    "CUPY_DEVICE_TYPE", "CartesianConnectivity", "GridType", "gtfn_cpu", "gtfn_gpu",
    "is_scalar_type", "itir_python",
    "allocators", "backend", "common", "constructors", "custom_layout_allocators", "embedded",
    "eve", "ffront", "field_utils", "named_collections", "program_processors", "type_system",
    "typing", "utils",
)  # fmt: skip

if not _TYPE_CHECKING:  # with it, type checkers would accept every name

    def __getattr__(name: str) -> object:
        """Import a name on first use, without garbage collections, see decision 0031."""
        if name not in _MODULES and name not in _LATE and not _is_new_builtin(name):
            raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")

        from importlib import import_module

        from .runtime.start.garbage import without_collections

        with without_collections():
            if name in _MODULES:
                for inner in _MODULES[name]:
                    import_module(f".{name}.{inner}", __name__)
                found = import_module(f".{name}", __name__)
            else:
                place = _LATE.get(name, _LANGUAGE).removeprefix(".")
                found = getattr(__import__(place, globals(), None, [name], 1), name)
        return globals().setdefault(name, found)

    def _is_new_builtin(name: str) -> bool:
        """Tell whether the table of operations has a builtin that is not in the list here."""
        if name.startswith("_"):
            return False

        from .runtime.embedded import builtins

        return name in builtins.__all__


def __dir__() -> list[str]:
    own = {name for name in globals() if name.startswith("__")}
    return sorted({*own, *__all__, *_LATE, *_MODULES} - {*_OF_GT4PY})


def _is_verbose() -> bool:
    from .runtime.process import settings

    return settings.current().verbose_exceptions


_install_excepthook(_is_verbose)
