"""Turn annotations of stencils (`Field[IJ, float]`, `np.float32`, "T") into types."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from .definition import Annotation, FieldOf, ScalarOf
from .errors import GTScriptDefinitionError, GTScriptValueError

DTYPES: Final = ("bool", "int8", "int16", "int32", "int64", "float32", "float64")


class MissingTypeError(ValueError):
    """A name of a type that `dtypes` does not define."""


def annotation_of(
    name: str, given: Any, dtypes: Mapping[Any, Any], int_type: str = "int64"
) -> Annotation:
    """Return the type of a parameter.

    >>> annotation_of("w", float, {})
    ScalarOf(dtype='float64')
    """
    if given is None:
        raise GTScriptDefinitionError(
            None, name, given, f"Missing dtype annotation of argument '{name}'."
        )
    if isinstance(given, str):
        if given not in dtypes:
            raise MissingTypeError(f"Missing '{given}' dtype definition for arg '{name}'.")
        return annotation_of(name, dtypes[given], dtypes, int_type)
    if hasattr(given, "axes") and hasattr(given, "dtype"):
        return _field(name, given, dtypes)
    if isinstance(given, type) and issubclass(given, enum.IntEnum):
        return ScalarOf(int_type)
    dtype = dtype_name(given)
    if dtype is None:
        raise GTScriptValueError(
            None, name, given,
            f"Invalid annotated dtype value for argument '{name}': {given!r}.",
            hints=("Annotate it with a field, 'bool', 'int', 'float' or a type of NumPy.",),
        )  # fmt: skip
    return ScalarOf(dtype)


def dtype_name(given: Any) -> str | None:
    """Return the name of a dtype of GTScript, None for every other value.

    >>> dtype_name(int), dtype_name(np.float32), dtype_name("text")
    ('int64', 'float32', None)
    """
    if not isinstance(given, type | np.dtype) or given is type(None):
        return None
    try:
        found = np.dtype(given).name
    except TypeError:
        return None
    return found if found in DTYPES else None


def _field(name: str, given: Any, dtypes: Mapping[Any, Any]) -> FieldOf:
    dtype = given.dtype
    if isinstance(dtype, str):
        if dtype not in dtypes:
            raise MissingTypeError(f"Missing '{dtype}' dtype definition for arg '{name}'.")
        dtype = dtypes[dtype]
    found = dtype_name(dtype)
    if found is None:
        raise GTScriptValueError(
            None, name, given, f"Invalid dtype of field '{name}': {given.dtype!r}."
        )
    axes = "".join(getattr(axis, "name", axis) for axis in given.axes)
    return FieldOf(axes, found, tuple(int(size) for size in getattr(given, "data_dims", ())))


def type_of(given: Any) -> Any:
    """Return a type of NumPy for its name, such as 'float32'; any other value as it is."""
    return np.dtype(given) if isinstance(given, str) and given in DTYPES else given
