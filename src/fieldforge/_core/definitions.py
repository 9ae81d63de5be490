"""Counterpart of `gt4py._core.definitions`: scalars, element types, devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..runtime.language.dimension import Dimension
from ..runtime.language.dtype import DType, as_dtype as dtype
from ..runtime.process import device as _device
from ..runtime.process.device import Device, DeviceType

Scalar: TypeAlias = bool | int | float | np.bool_ | np.integer[Any] | np.floating[Any]
SCALAR_TYPES = (bool, int, float, np.bool_, np.integer, np.floating)
ScalarT = TypeVar("ScalarT", bound=Scalar)
DimsT = TypeVar("DimsT", bound=Sequence[Dimension])

__all__ = [
    "SCALAR_TYPES",
    "DType",
    "Device",
    "DeviceType",
    "DimsT",
    "Scalar",
    "ScalarT",
    "dtype",
    "is_scalar_type",
]


def is_scalar_type(given: Any) -> bool:
    """Tell whether an object is a number or a type of numbers.

    >>> is_scalar_type(1.0), is_scalar_type(np.int32), is_scalar_type("1.0")
    (True, True, False)
    """
    return isinstance(given, SCALAR_TYPES) or (
        isinstance(given, type) and issubclass(given, SCALAR_TYPES)
    )


def __getattr__(name: str) -> Any:
    """Resolve `CUPY_DEVICE_TYPE` on first use, because that imports CuPy."""
    if name == "CUPY_DEVICE_TYPE":
        return _device.CUPY_DEVICE_TYPE
    raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")
