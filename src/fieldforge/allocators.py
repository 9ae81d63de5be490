"""Counterpart of `gt4py.next.allocators`: the allocators of fields, and tests for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .runtime.fields.allocators.standard import (
    Allocator,
    CPUAllocator,
    GPUAllocator,
    find_allocator,
)
from .runtime.fields.field_constructor import FieldsOnCPU
from .runtime.process.device import DeviceType

__all__ = [
    "Allocator",
    "CPUAllocator",
    "FieldBufferAllocatorProtocol",
    "GPUAllocator",
    "StandardCPUFieldBufferAllocator",
    "StandardGPUFieldBufferAllocator",
    "device_allocators",
    "get_allocator",
    "is_field_allocation_tool",
    "is_field_allocation_tool_for",
    "is_field_allocator",
    "is_field_allocator_factory",
    "is_field_allocator_factory_for",
    "is_field_allocator_for",
]

FieldBufferAllocatorProtocol = Allocator
StandardCPUFieldBufferAllocator = CPUAllocator
StandardGPUFieldBufferAllocator = GPUAllocator

device_allocators: Final[Mapping[DeviceType, Allocator]] = {DeviceType.CPU: FieldsOnCPU()}


def is_field_allocator(given: Any) -> bool:
    """Tell whether an object makes arrays itself."""
    return isinstance(given, Allocator)


def is_field_allocator_for(given: Any, device: DeviceType) -> bool:
    """Tell whether an object makes arrays on a kind of device."""
    return is_field_allocator(given) and given.__gt_device_type__ == device


def is_field_allocator_factory(given: Any) -> bool:
    """Tell whether an object has an allocator, as backends do."""
    return is_field_allocator(getattr(given, "__gt_allocator__", None))


def is_field_allocator_factory_for(given: Any, device: DeviceType) -> bool:
    """Tell whether an object has an allocator for a kind of device."""
    return is_field_allocator_for(getattr(given, "__gt_allocator__", None), device)


def is_field_allocation_tool(given: Any) -> bool:
    """Tell whether an object is an allocator or has one.

    >>> import fieldforge as ff
    >>> is_field_allocation_tool(ff.cpu), is_field_allocation_tool(DeviceType.CPU)
    (True, False)
    """
    return is_field_allocator(given) or is_field_allocator_factory(given)


def is_field_allocation_tool_for(given: Any, device: DeviceType) -> bool:
    """Tell whether an object is or has an allocator for a kind of device."""
    return is_field_allocator_for(given, device) or is_field_allocator_factory_for(given, device)


def get_allocator(given: Any, *, default: Any = None) -> Allocator:
    """Return the allocator that an object is or has; `default` replaces None."""
    return find_allocator(default if given is None else given, None)[0]
