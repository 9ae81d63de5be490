"""Turn Python values that a stencil names into constants: numbers, functions, bounds of axes."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from .annotations import DTYPES, MissingTypeError, annotation_of, dtype_name
from .definition import AxisBound, Constant, FunctionDefinition, Number, Opaque, ScalarOf
from .errors import GTScriptValueError

MARK = "__gtscript_function__"


def constant_at(value: Any, path: Sequence[str]) -> Constant:
    """Follow attributes from a value, and return what stands there as a constant."""
    for name in path:
        try:
            value = getattr(value, name)
        except AttributeError:
            return Opaque(f"attribute '{name}' of '{type(value).__name__}', which it lacks")
    return constant_of(value)


def constant_of(value: Any) -> Constant:
    """Return a value as a constant.

    >>> constant_of(2.5), constant_of(np.float32(1))
    (Number(dtype='float', text='2.5'), Number(dtype='float32', text='1.0'))
    """
    if isinstance(value, bool | np.bool_):
        return Number("bool", str(bool(value)))
    if isinstance(value, enum.IntEnum):
        return Number("int", str(value.value))
    if isinstance(value, np.generic):
        name = value.dtype.name
        return Number(name, repr(value.item())) if name in DTYPES else Opaque(f"a number '{name}'")
    if isinstance(value, int):
        return Number("int", str(int(value)))
    if isinstance(value, float):
        return Number("float", repr(float(value)))
    if all(hasattr(value, part) for part in ("axis", "index", "offset")):
        axis = getattr(value.axis, "name", value.axis)
        return AxisBound(str(axis), int(value.index), int(value.offset))
    if hasattr(value, "axes") and hasattr(value, "dtype"):
        return _type(value)
    dtype = dtype_name(value)
    if dtype is not None:
        return ScalarOf(dtype)
    marked = getattr(value, MARK, None)
    if callable(marked):
        marked = marked()
    if isinstance(marked, FunctionDefinition):
        return marked
    return Opaque(f"a '{type(value).__name__}'")


def _type(value: Any) -> Constant:
    try:
        return annotation_of("type", value, {})
    except (GTScriptValueError, MissingTypeError):
        return Opaque("the type of a field with an unknown dtype")
