"""What `gt4py.next.constructors` offers."""

from .runtime.fields.constructors import (
    FieldConstructor,
    as_connectivity,
    as_field,
    empty,
    full,
    ones,
    zeros,
)

__all__ = ["FieldConstructor", "as_connectivity", "as_field", "empty", "full", "ones", "zeros"]
