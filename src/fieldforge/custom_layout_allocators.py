"""Counterpart of `gt4py.next.custom_layout_allocators`; the same as `allocators`."""

from .allocators import (
    Allocator,
    CPUAllocator,
    FieldBufferAllocatorProtocol,
    GPUAllocator,
    StandardCPUFieldBufferAllocator,
    StandardGPUFieldBufferAllocator,
    device_allocators,
    get_allocator,
    is_field_allocation_tool,
    is_field_allocation_tool_for,
    is_field_allocator,
    is_field_allocator_factory,
    is_field_allocator_factory_for,
    is_field_allocator_for,
)

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
