"""What `gt4py.next.typing` offers: names for annotations, which may be evaluated."""

from ._core.definitions import Scalar
from .runtime.allocator import Allocator
from .runtime.connectivity import OffsetProvider
from .workflows.backend import Backend
from .workflows.entry_point import EntryPoint as GTEntryPoint
from .workflows.field_operator import FieldOperator
from .workflows.program import Program

__all__ = [
    "Allocator",
    "Backend",
    "FieldOperator",
    "GTEntryPoint",
    "OffsetProvider",
    "Program",
    "Scalar",
]
