"""Counterpart of `gt4py.next.type_system.type_translation`: types of annotations and of values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..runtime.language.annotations import type_from_annotation
from ..runtime.language.dtype import DType, as_dtype
from ..runtime.language.types import DataType, ScalarType, type_of_value
from .type_specifications import ScalarKind

__all__ = ["as_dtype", "from_dtype", "from_type_hint", "from_value", "get_scalar_kind"]


def from_type_hint(
    type_hint: Any,
    *,
    globalns: Mapping[str, Any] | None = None,
    localns: Mapping[str, Any] | None = None,
) -> Any:
    """Return the type that an annotation means.

    >>> import fieldforge as ff
    >>> str(from_type_hint(ff.Field[ff.Dims[ff.Dimension("I")], float]))
    'Field[[I], float64]'
    """
    return type_from_annotation(type_hint, {**(globalns or {}), **(localns or {})})


def from_value(value: Any) -> DataType:
    """Return the type of a number, a field, or a tuple or collection of them."""
    return type_of_value(value)


def from_dtype(dtype: DType) -> ScalarType:
    """Return the type of the elements of a field."""
    return ScalarType(str(dtype))


def get_scalar_kind(dtype: Any) -> ScalarKind:
    """Return the kind of a NumPy dtype or scalar type.

    >>> get_scalar_kind("float32").name
    'FLOAT32'
    """
    return ScalarKind(str(as_dtype(dtype)))
