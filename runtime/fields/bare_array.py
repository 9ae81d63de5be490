"""Take arrays for fields: an array stands for a field whose indices start at 0.

It must have one axis for each dimension, in that order, and the element type; nothing is copied
and nothing converted. Anything that lends its memory is an array: by the buffer protocol, DLPack
or NumPy's array interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from .._core import FieldView
from ..language import (
    CollectionType,
    Dimension,
    FieldType,
    ScalarType,
    TupleType,
    Type,
    axis_name,
    elements,
    rebuilt,
)
from ..process import DeviceType
from .field import Field

_HOST: Final = (1, 3, 11)  # memory that the CPU can reach, as DLPack counts


def with_fields(type_: Type | None, value: Any) -> Any:
    """Return the value of a parameter with a field for each array that fits its type.

    >>> from fieldforge.runtime.language.dimension import Dimension, axis_name
    >>> from fieldforge.runtime.language.types import ScalarType
    >>> line = FieldType((Dimension("I"),), ScalarType("float64"))
    >>> str(with_fields(line, np.ones(3)))
    'Field(I=(0:3); float64)'
    >>> with_fields(line, np.ones((2, 2))).shape
    (2, 2)
    """
    match type_:
        case FieldType() if not isinstance(value, FieldView):
            return _as_field(type_, value)
        case TupleType(inner) | CollectionType(elements=inner):
            parts = elements(value)
            if parts is None or len(parts) != len(inner):
                return value
            made = tuple(map(with_fields, inner, parts))
            same = all(one is other for one, other in zip(made, parts, strict=True))
            return value if same else rebuilt(value, made)
    return value


def as_array(value: Any) -> np.ndarray[Any, Any] | None:
    """Return the memory that a value lends, as NumPy sees it; None if it lends none.

    >>> as_array(memoryview(b"ab")), as_array("ab"), as_array(1.0)
    (array([97, 98], dtype=uint8), None, None)
    """
    if isinstance(value, np.ndarray):
        return None if _is_masked(value) else value
    if isinstance(value, FieldView | np.generic):
        return None
    try:
        if hasattr(type(value), "__dlpack__") and not _has_buffer(value):
            return np.from_dlpack(value) if device_of(value)[0] in _HOST else None
        if _has_buffer(value) or hasattr(value, "__array_interface__"):
            return np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None  # for instance, an element type that NumPy lacks
    return None


def device_of(value: Any) -> tuple[int, int]:
    """Return where a field or array lies: the kind of device as DLPack counts, and its number."""
    if isinstance(value, FieldView):
        return value.device_type, value.device_id
    if hasattr(value, "__cuda_array_interface__"):
        return int(DeviceType.CUDA), 0
    found = getattr(value, "__dlpack_device__", None)
    kind, number = found() if found else (DeviceType.CPU, 0)
    return int(kind), int(number)


def is_array(value: Any) -> bool:
    """Tell whether a value is an array and no field, on any device."""
    if isinstance(value, FieldView | np.generic):
        return False
    kinds = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
    return any(hasattr(value, kind) for kind in kinds) or _has_buffer(value)


def describe_array(value: Any) -> str:
    """Return a description of an array for a message.

    >>> describe_array(np.ones((2, 3), np.float32))
    'array with 2 axes of float32'
    """
    array = value if isinstance(value, np.ndarray) else as_array(value)
    if array is None:
        return type(value).__name__
    kind = array.dtype.name if array.dtype.isnative else f"{array.dtype.name} in another byte order"
    name = "masked array" if _is_masked(value) else "array"
    return f"{name} with {array.ndim} {'axis' if array.ndim == 1 else 'axes'} of {kind}"


def advice(name: str, type_: Type, value: Any) -> str | None:
    """Return what to pass instead of a value that is not of the type of a parameter."""
    if isinstance(type_, ScalarType):
        return _number_advice(name, type_, value)
    if not isinstance(type_, FieldType):
        return None
    if getattr(type(value), "__fieldforge_field__", False):
        return _field_advice(name, type_, value)
    if isinstance(getattr(value, "dims", None), tuple) and hasattr(value, "dtype"):
        return _named_advice(name, type_, value)
    if is_array(value):
        return _array_advice(name, type_, value)
    if isinstance(value, list | tuple):
        return f"Make a field: 'as_field([{_listed(type_.dims)}], {name})'."
    if isinstance(value, Mapping):
        return f"Pass one array of it, as in '{name}[...]'."
    return None


def _number_advice(name: str, type_: ScalarType, value: Any) -> str | None:
    """Return a hint for a number of another type."""
    if not isinstance(value, int | float | np.generic):
        return None
    if "bool" in (type_.name, _type_name(value)):
        return f"Convert it: '{'bool' if type_.name == 'bool' else type_}({value!r})'."
    if isinstance(value, np.generic):
        return f"Convert it: '{type_}({name})'."
    if type_.name.startswith("float"):
        return f"The number is no '{type_}'; round it: '{type_}({value!r})'."
    return "A whole number that the type can hold is expected."


def _field_advice(name: str, type_: FieldType, value: Any) -> str:
    """Return a hint for a field of another type."""
    own, expected = _listed(value.dims), _listed(type_.dims)
    if value.dims == type_.dims:
        return (
            f"Fields are never converted: pass 'astype({name}, {type_.dtype})', or declare "
            f"'{name}' as 'Field[[{own}], {value.dtype}]'."
        )
    if set(value.dims) == set(type_.dims):
        order = ", ".join(str(value.dims.index(dim)) for dim in type_.dims)
        return (
            f"Make '{name}' with its dimensions in the order of the parameter: "
            f"'as_field([{expected}], {name}.asnumpy().transpose({order}))'."
        )
    lacks = [dim for dim in type_.dims if dim not in value.dims]
    if set(value.dims) < set(type_.dims):
        return (
            f"Declare '{name}' as 'Field[[{own}], {value.dtype}]'; an operator spreads it along "
            f"{_listed(lacks)}, as in 'broadcast({name}, ({expected}))' or in arithmetic."
        )
    more = next(dim for dim in value.dims if dim not in type_.dims)
    if not lacks:
        return f"Choose one index along '{more.value}': '{name}[{more.value}(0)]'."
    return (
        f"Pass a field over ({expected}), or declare '{name}' as 'Field[[{own}], {value.dtype}]'."
    )


def _named_advice(name: str, type_: FieldType, value: Any) -> str | None:
    """Return a hint for an array with named axes that cannot be passed for a field."""
    own, expected = [str(axis) for axis in value.dims], list(map(axis_name, type_.dims))
    if sorted(own) == sorted(expected):
        known = str(value.dtype) == type_.dtype.name
        return None if known else f"Convert it: '{name}.astype(\"{type_.dtype}\")'."
    if len(own) != len(expected):
        return (
            f"The axes of '{name}' are {_quoted(own)}, those of the parameter {_quoted(expected)}."
        )
    pairs = (f'"{one}": "{other}"' for one, other in zip(own, expected, strict=True))
    return (
        f"An axis stands for the dimension of its name, and '{name}' has the axes {_quoted(own)}: "
        f"rename them, for instance '{name}.rename({{{', '.join(pairs)}}})'."
    )


def _listed(dims: Sequence[Dimension]) -> str:
    return ", ".join(map(axis_name, dims))


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _is_masked(value: Any) -> bool:
    """Tell a masked array; a plain array needs no import of `numpy.ma`."""
    return type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray)


def _type_name(value: Any) -> str:
    return str(getattr(value, "dtype", type(value).__name__))


def _array_advice(name: str, type_: FieldType, value: Any) -> str | None:
    """Return a hint for an array that cannot be passed for the field of a parameter."""
    if _is_masked(value):
        return f"The memory of '{name}' knows no mask: pass '{name}.filled(...)'."
    array = as_array(value)
    if array is None:
        return f"Make a field of the array '{name}' with 'as_field'."
    if array.ndim != len(type_.dims):
        axes = ", ".join(dim.value for dim in type_.dims) or "none"
        return (
            f"An array in the place of a field has its dimensions as axes ({axes}); otherwise "
            f"make a field of the array '{name}' with 'as_field'."
        )
    return (
        f"The elements of an array are never converted: pass '{name}.astype(\"{type_.dtype}\")', "
        f"or make a field of the array '{name}' with 'as_field'."
    )


def _as_field(type_: FieldType, value: Any) -> Any:
    if hasattr(value, "dims"):
        from .named_axes import in_order

        parts = in_order(value, type_.dims)
        if parts is not None and parts[0].dtype == type_.dtype.name:
            return Field(parts[0], type_.dims, parts[1])
        return value
    array = as_array(value)
    fits = array is not None and array.ndim == len(type_.dims) and array.dtype == type_.dtype.name
    return Field(array, type_.dims, (0,) * len(type_.dims)) if fits else value


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
    except (BufferError, TypeError, ValueError):
        return False
    return True
