"""Allocate the memory of a new field where an allocator or a device says, and write into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..language import Domain, DomainLike, NamedIndex, as_dtype, domain_of_memory
from ..process import Device, DeviceType, DomainError
from .allocators.standard import CPUAllocator, find_allocator
from .field import Field, make


def allocated(
    given: DomainLike,
    dtype: Any,
    aligned_index: Sequence[NamedIndex] | None,
    allocator: Any,
    device: Device | None,
    *,
    zeroed: bool,
) -> tuple[Field, bool]:
    """Return a new field with any values, and whether these are zeros as `zeroed` asks."""
    box = finite(given)
    maker, device = find_allocator(allocator, device)
    kind = as_dtype(dtype)
    if isinstance(maker, CPUAllocator):
        array = maker.__gt_allocate__(box, kind, 0, aligned_index, zeroed=zeroed)
    else:
        zeroed = False
        made = maker.__gt_allocate__(box, kind, device.device_id, aligned_index)
        array = getattr(made, "ndarray", made)
    field = make(array, box)
    assert isinstance(field, Field)  # the domain is finite
    return field, zeroed


def finite(given: DomainLike) -> Domain:
    """Return the domain that a field in memory has, with an end along each dimension."""
    box = domain_of_memory(given)
    if not box.is_finite():
        raise DomainError(f"A field needs a finite domain, got '{box}'.")
    return box


def fill(field: Field, value: Any) -> None:
    """Set all elements to a value, on the host or on the field's device."""
    if field.device_type == DeviceType.CPU:
        field.ndarray[...] = value
    else:
        from .allocators import device

        device.fill(field.ndarray, value)


def copy_in(field: Field, array: Any) -> None:
    """Copy an array of the field's shape into it, on the host or on the field's device."""
    if field.device_type == DeviceType.CPU:
        field[...] = array
    else:
        from .allocators import device

        device.copy_in(field.ndarray, array)
