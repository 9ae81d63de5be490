"""Read the data that a field is made of: the device, the names of the axes, the domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..language.dimension import Dimension
from ..language.domain import Domain, DomainLike
from ..language.domain import domain as make_domain
from ..process.errors import DeviceError, DomainError
from .device import Device, DeviceType

MANAGED = 13  # memory of CUDA that moves to where it is used, as DLPack numbers it


def device_of(data: Any) -> Device | None:
    """Return the GPU that an array of any library lies on, None for data of the host."""
    if not hasattr(data, "shape") or not hasattr(data, "__dlpack_device__"):
        return None
    kind, number = data.__dlpack_device__()
    kind = {MANAGED: DeviceType.CUDA}.get(int(kind), int(kind))
    if kind == DeviceType.CPU or kind not in tuple(DeviceType):
        return None
    return Device(DeviceType(kind), int(number))


def array_for(data: Any, device: Device) -> Any:
    """Return data as an array that a field on `device` copies, without a copy where it can be.

    A `DeviceError` refuses data of a GPU for a field of the host.
    """
    place = device_of(data)
    if place is None:
        return array_on_cpu(data)
    if device.device_type == DeviceType.CPU:
        raise DeviceError(
            f"The data lies on '{place}', and the field would lie on the host.",
            hints=["Copy it to the host first, for instance with 'data.get()'."],
        )
    return _array_of(data)


def array_on_host(data: Any) -> np.ndarray[Any, Any]:
    """Return data as a NumPy array, a copy where it lies on a GPU; that waits for the GPU."""
    if device_of(data) is None:
        return array_on_cpu(data)
    found: np.ndarray[Any, Any] = _array_of(data).to_host()
    return found


def _array_of(data: Any) -> Any:
    from .. import gpu  # who has no data on a GPU does not pay for it

    return gpu.Array.from_any(data)


def array_on_cpu(data: Any) -> np.ndarray[Any, Any]:
    """Return data as a NumPy array; a `DeviceError` refuses data on another device."""
    place = data.__dlpack_device__()[0] if hasattr(data, "__dlpack_device__") else 1
    if place != 1:
        raise DeviceError(
            "The data lies on a device that this version has no fields for.",
            hints=["Copy it to the CPU first, for instance with 'data.get()'."],
        )
    return np.asarray(data)


def check_axes(box: Domain, data: Any) -> None:
    """Refuse data whose axes have other names than the dimensions of the domain."""
    named = getattr(data, "dims", None)
    if not isinstance(named, tuple) or not all(isinstance(name, str) for name in named):
        return
    wanted = tuple(dim.value for dim in box.dims)
    if named == wanted:
        return
    order = ", ".join(map(repr, wanted))
    same = sorted(named) == sorted(wanted)
    raise DomainError(
        f"The axes of the data are named {', '.join(map(repr, named)) or 'nothing'}, expected "
        f"{order}.",
        hints=[
            f"Write 'data.transpose({order})'."
            if same
            else "Rename them, or give the plain array: 'data.values'."
        ],
    )


def domain_for(
    given: DomainLike | Sequence[Dimension],
    array: np.ndarray[Any, Any],
    origin: Mapping[Dimension, int] | None,
) -> Domain:
    """Return the domain of a field of `array`: the one given, or indices from `-origin[dim]`."""
    dims: Any = (given,) if isinstance(given, Dimension) else given
    names_only = not isinstance(dims, Domain | Mapping) and all(
        isinstance(dim, Dimension) for dim in dims
    )
    if not names_only:
        if origin is not None:
            raise DomainError("Expected either a domain or 'origin' with dimensions, got both.")
        return make_domain(dims)
    if len(dims) != len(array.shape):
        raise DomainError(
            f"The data must have one axis for each dimension: expected {len(dims)}, "
            f"got {len(array.shape)}."
        )
    for dim in origin or {}:
        if dim not in dims:
            names = ", ".join(f"'{each.value}'" for each in dims) or "no dimension"
            raise DomainError(
                f"'origin' names dimension '{getattr(dim, 'value', dim)}', but the field has "
                f"{names}."
            )
    starts = [-(origin or {}).get(dim, 0) for dim in dims]
    return Domain(*((d, (s, s + n)) for d, s, n in zip(dims, starts, array.shape, strict=True)))
