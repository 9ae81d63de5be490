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

from . import errors
from .runtime import settings as _settings
from .runtime.annotations import Dims
from .runtime.builtins import *  # noqa: F403  (the builtins of the language, by their '__all__')
from .runtime.builtins import __all__ as _builtins
from .runtime.connectivity import CartesianConnectivity, FieldOffset, GridType
from .runtime.constructors import FieldConstructor, as_field, empty, full, ones, zeros
from .runtime.device import Device, DeviceType
from .runtime.dimension import (
    Dimension,
    DimensionKind,
    as_non_staggered,
    flip_staggered,
    is_staggered,
)
from .runtime.domain import Domain, UnitRange, domain, unit_range
from .runtime.excepthook import install_excepthook as _install_excepthook
from .runtime.field import Field
from .runtime.namespace import FrozenNamespace
from .workflows import recipes
from .workflows.backend import Backend
from .workflows.backends import cpu, dace_cpu, gtfn_cpu, itir_python, reference
from .workflows.decorators import field_operator, program, scan_operator
from .workflows.engine import Engine
from .workflows.events import Collector
from .workflows.function_stage import Text, stage
from .workflows.graph import Workflow
from .workflows.session import engine, using

if _TYPE_CHECKING:
    from .workflows.precompile import precompile

__version__ = "0.1.0"

__all__ = [
    "Backend",
    "CartesianConnectivity",
    "Collector",
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
    "Text",
    "UnitRange",
    "Workflow",
    "as_field",
    "as_non_staggered",
    "cpu",
    "dace_cpu",
    "domain",
    "empty",
    "engine",
    "errors",
    "field_operator",
    "flip_staggered",
    "full",
    "gtfn_cpu",
    "is_staggered",
    "itir_python",
    "ones",
    "precompile",
    "program",
    "recipes",
    "reference",
    "scan_operator",
    "stage",
    "unit_range",
    "using",
    "zeros",
    *_builtins,
]

if not _TYPE_CHECKING:  # type checkers would take it to have every name

    def __getattr__(name: str) -> object:
        """Import what few programs use when it is asked for, see decision 0005."""
        if name == "precompile":
            from .workflows.precompile import precompile

            return precompile
        raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_install_excepthook(lambda: _settings.current().verbose_exceptions)
