"""Counterpart of `gt4py.next.constructors`."""

from .runtime.fields.constructors import (
    as_connectivity,
    as_field,
    empty,
    full,
    ones,
    zeros,
)
from .runtime.fields.field_constructor import FieldConstructor

__all__ = ["FieldConstructor", "as_connectivity", "as_field", "empty", "full", "ones", "zeros"]
