"""Arrays of NumPy and CuPy from anything that lends its memory."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..fields.given_data import device_of


def asarray(array: Any, *, device: Literal["cpu", "gpu"] | None = None) -> Any:
    """Return an array of NumPy, or of CuPy for memory of a GPU, without a copy where it can be.

    Without `device` the memory stays where it is; fields give their `ndarray`.

    Raises:
        TypeError: the object lends no memory.
        ValueError: there is no such device.

    >>> asarray([1, 2], device="cpu")
    array([1, 2])
    """
    array = getattr(array, "ndarray", array)
    place = _device_of(array) if device is None else device
    match place:
        case "cpu":
            has_dlpack_alone = hasattr(array, "__dlpack__") and not _is_array_like(array)
            return np.from_dlpack(array) if has_dlpack_alone else np.asarray(array)
        case "gpu":
            return cupy().asarray(array)
        case None:
            raise TypeError(f"Cannot convert {type(array)} to ndarray")
    raise ValueError(f"Invalid device: {device!s}")


def cpu_copy(array: Any) -> np.ndarray[Any, Any]:
    """Return a copy on the host, of an array of the host or of a GPU.

    >>> cpu_copy(np.ones(2))
    array([1., 1.])
    """
    get = getattr(array, "get", None)
    return np.array(array if get is None else get())


def dims_of(array: Any) -> tuple[str, ...] | None:
    """Return the names of the axes that an object declares by `__gt_dims__`."""
    found = getattr(array, "__gt_dims__", None)
    return None if found is None else tuple(map(str, found))


def origin_of(array: Any) -> tuple[int, ...] | None:
    """Return the index of the first point that an object declares by `__gt_origin__`."""
    found = getattr(array, "__gt_origin__", None)
    return None if found is None else tuple(map(int, found))


def cupy() -> Any:
    """Return CuPy, which storages on GPUs need."""
    try:
        import cupy as found
    except ImportError as error:
        raise RuntimeError("CuPy is required for GPU arrays.") from error
    return found


def _device_of(array: Any) -> Literal["cpu", "gpu"] | None:
    if device_of(array) is not None or hasattr(array, "__cuda_array_interface__"):
        return "gpu"
    is_lent = hasattr(array, "__dlpack_device__") or _is_array_like(array)
    return "cpu" if is_lent else None


def _is_array_like(array: Any) -> bool:
    return hasattr(array, "__array_interface__") or hasattr(array, "__array__")
