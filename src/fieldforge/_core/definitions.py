"""What `gt4py._core.definitions` offers: scalars, element types, devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..runtime.fields import device as _device
from ..runtime.fields.constructors import as_dtype as dtype
from ..runtime.fields.device import Device, DeviceType
from ..runtime.language.dimension import Dimension
from ..runtime.language.dtype import DType

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
    """Say whether something is a number, or the type of one.

    >>> is_scalar_type(1.0), is_scalar_type(np.int32), is_scalar_type("1.0")
    (True, True, False)
    """
    return isinstance(given, SCALAR_TYPES) or (
        isinstance(given, type) and issubclass(given, SCALAR_TYPES)
    )


def __getattr__(name: str) -> Any:
    """Find `CUPY_DEVICE_TYPE` when it is asked for: that imports CuPy."""
    if name == "CUPY_DEVICE_TYPE":
        return _device.CUPY_DEVICE_TYPE
    raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")
