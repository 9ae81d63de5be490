"""Counterpart of `gt4py.next.typing`: names for annotations, which may be evaluated."""

from ._core.definitions import Scalar
from .runtime.fields.allocators.standard import Allocator
from .runtime.language.connectivity import OffsetProvider
from .workflows.backends.backend import Backend
from .workflows.entries.entry_point import EntryPoint as GTEntryPoint
from .workflows.entries.field_operator import FieldOperator
from .workflows.entries.program import Program

__all__ = [
    "Allocator",
    "Backend",
    "FieldOperator",
    "GTEntryPoint",
    "OffsetProvider",
    "Program",
    "Scalar",
]
