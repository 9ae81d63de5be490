"""Read the data that a field is made of: the device, the names of the axes, the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..language import Dimension, Domain, DomainLike, axis_name, domain as make_domain
from ..process import Device, DeviceError, DeviceType, DomainError
from .alignment import first

MANAGED = 13  # memory of CUDA that moves to where it is used, as DLPack numbers it


def device_of(data: Any) -> Device | None:
    """Return the GPU that an array of any library lies on, None for data of the host."""
    if not hasattr(data, "__dlpack_device__"):
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
    if place is not None and device.device_type == DeviceType.CPU:
        raise DeviceError(
            f"The data lies on '{place}', and the field would lie on the host.",
            hints=["Copy it to the host first, for instance with 'data.get()'."],
        )
    return array_of(data)


def array_on_host(data: Any) -> np.ndarray[Any, Any]:
    """Return data as a NumPy array, a copy where it lies on a GPU; that waits for the GPU."""
    array = array_of(data)
    found: np.ndarray[Any, Any] = array if isinstance(array, np.ndarray) else array.to_host()
    return found


def array_of(data: Any) -> Any:
    """Return data as an array of NumPy, or of the GPU runtime where it lies on a GPU."""
    if device_of(data) is None:
        return _array_on_cpu(data)
    from .. import gpu  # who has no data on a GPU does not pay for it

    return gpu.Array.from_any(data)


def _array_on_cpu(data: Any) -> np.ndarray[Any, Any]:
    """Return data as a NumPy array; a `DeviceError` refuses data on another device."""
    place = data.__dlpack_device__()[0] if hasattr(data, "__dlpack_device__") else 1
    if place != 1:
        raise DeviceError(
            "The data lies on a device that this version has no fields for.",
            hints=["Copy it to the CPU first, for instance with 'data.get()'."],
        )
    known = hasattr(data, "__array__") or hasattr(data, "__array_interface__")
    given_by_dlpack = hasattr(data, "__dlpack__") and not known
    return np.from_dlpack(data) if given_by_dlpack else np.asarray(data)


def is_function(data: Any) -> bool:
    """Tell whether data are a function of indices; fields can be called, too."""
    return callable(data) and not hasattr(data, "__array__") and not hasattr(data, "__dlpack__")


def values_at(function: Callable[..., Any], box: Domain) -> np.ndarray[Any, Any]:
    """Return the values of a function on a domain: one call with the indices of each dimension."""
    indices = np.ix_(*(first(own) + np.arange(len(own)) for own in box.ranges))
    return np.broadcast_to(function(*indices), box.shape)


def ranges_in(given: DomainLike | Sequence[Dimension]) -> Domain | None:
    """Return the domain that a constructor is given, None for dimensions without ranges."""
    if isinstance(given, Dimension):
        return None
    plain: Any = given
    if not isinstance(plain, Domain | Mapping) and all(isinstance(d, Dimension) for d in plain):
        return None
    return make_domain(plain)


def placed(
    given: DomainLike | Sequence[Dimension],
    data: Any,
    array: Any,
    origin: Mapping[Dimension, int] | None,
) -> tuple[Any, Domain]:
    """Return the array of `data` with its axes in the order of the domain, and the domain."""
    array, own_origin = _arranged(given, data, array)
    if origin is None and ranges_in(given) is None:
        origin = own_origin
    box = _domain_for(given, array, origin)
    check_axes(box, data)
    return array, box


def _arranged(
    given: DomainLike | Sequence[Dimension], data: Any, array: Any
) -> tuple[Any, Mapping[Dimension, int] | None]:
    """Order the axes by `__gt_dims__` of the data; return `__gt_origin__` by dimension."""
    if not hasattr(data, "__gt_dims__") and not hasattr(data, "__gt_origin__"):
        return array, None
    ranges = ranges_in(given)
    dims = _dims_alone(given) if ranges is None else ranges.dims
    wanted = [dim.value for dim in dims]
    names = list(getattr(data, "__gt_dims__", wanted))
    if sorted(names) != sorted(wanted):
        raise DomainError(
            f"The data have the dimensions {_listed(names)}, expected {_listed(wanted)}."
        )
    order = [names.index(name) for name in wanted]
    origin = getattr(data, "__gt_origin__", None)
    if origin is not None and len(origin) != len(names):
        raise DomainError(
            f"The origin of the data must have one index for each axis: expected {len(names)}, "
            f"got {len(origin)}."
        )
    if order != sorted(order):
        array = array.transpose(*order)
    return array, origin and {dim: int(origin[at]) for dim, at in zip(dims, order, strict=True)}


def _dims_alone(given: Any) -> tuple[Dimension, ...]:
    return (given,) if isinstance(given, Dimension) else tuple(given)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


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


def _with_ranges(dims: Sequence[Dimension], array: np.ndarray[Any, Any]) -> list[str]:
    """Return what to write where one value, or a function, has no indices."""
    if array.shape:
        return []
    ranges = ", ".join(f"{axis_name(dim)}: 10" for dim in dims)
    return [f"To fill a field say its indices, as in 'as_field({{{ranges}}}, ...)'."]


def _domain_for(
    given: DomainLike | Sequence[Dimension],
    array: np.ndarray[Any, Any],
    origin: Mapping[Dimension, int] | None,
) -> Domain:
    """Return the domain of a field of `array`: the one given, or indices from `-origin[dim]`."""
    ranges = ranges_in(given)
    if ranges is not None:
        if origin is not None:
            raise DomainError("Expected either a domain or 'origin' with dimensions, got both.")
        return ranges
    dims = _dims_alone(given)
    if len(dims) != len(array.shape):
        raise DomainError(
            f"The data must have one axis for each dimension: expected {len(dims)}, "
            f"got {len(array.shape)}.",
            hints=_with_ranges(dims, array),
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
