"""Allocators: make the memory of fields, by our own allocator or the user's.

Fields of the host for the emulated GPU, with guards around their memory while those are on.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from ...language import Domain, DType, NamedIndex
from ...process import (
    CPU,
    PLATFORM_OF,
    ArgumentError,
    Device,
    DeviceError,
    DeviceType,
    DomainError,
    classes,
)
from ..alignment import first
from ..layout import allocate, memory_order


@runtime_checkable
class Allocator(Protocol):
    """The protocol of allocators: ours, a backend's or the user's.

    `__gt_allocate__` returns an array, or an object whose `ndarray` is one.
    """

    __gt_device_type__: DeviceType

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[NamedIndex] | None = None,
    ) -> Any:
        """Make an array for a finite domain; its values may be anything."""


@classes.frozen
class CPUAllocator:
    """Makes NumPy arrays, aligned and with the layout that CPU code runs fastest on.

    Attributes:
        c_order: use NumPy's layout: the last axis is contiguous, and no row is padded.

    """

    __gt_device_type__ = DeviceType.CPU
    c_order: bool = False

    @property
    def device_type(self) -> DeviceType:
        """The kind of device that the memory lies on."""
        return self.__gt_device_type__

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[NamedIndex] | None = None,
        *,
        zeroed: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Make an array; `zeroed` memory comes untouched from the system."""
        index = _relative(domain, aligned_index)
        if self.c_order:
            return (np.zeros if zeroed else np.empty)(domain.shape, dtype.dtype)
        return allocate(domain.shape, domain.dims, dtype.dtype, aligned_index=index, zeroed=zeroed)


@classes.frozen
class GPUAllocator:
    """Makes arrays on the GPU of this process, whatever its vendor; see `device`."""

    @property
    def device_type(self) -> DeviceType:
        """The kind of GPU that the process uses; CUDA where there is none."""
        from ... import gpu

        return _KINDS.get(gpu.platform() or "", DeviceType.CUDA)

    @property
    def __gt_device_type__(self) -> DeviceType:
        return self.device_type

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[NamedIndex] | None = None,
    ) -> Any:
        """Make an array; a `DeviceError` says why there is no GPU."""
        from .device import DeviceAllocator

        kind = DeviceAllocator(self.device_type)
        return kind.__gt_allocate__(domain, dtype, device_id, aligned_index)


_KINDS: Final = {platform: kind for kind, platform in PLATFORM_OF.items()}


CPU_ALLOCATOR: Final = CPUAllocator()
ARRAY_ALLOCATORS: Final = {"numpy": CPUAllocator(c_order=True), "cupy": GPUAllocator()}


def find_allocator(given: Any, device: Device | None) -> tuple[Allocator, Device]:
    """Return the allocator and device that the arguments `allocator` and `device` mean.

    `given` is an array namespace (numpy makes arrays in C order), an allocator, something with a
    `__gt_allocator__` (a backend or a program), or None for the default of the device.
    """
    if device is not None and not _is_device(device):
        raise ArgumentError(f"Expected a 'Device' as 'device', got {device!r}.")
    maker = getattr(given, "__gt_allocator__", given)
    if isinstance(maker, ModuleType):
        maker = ARRAY_ALLOCATORS.get(maker.__name__, maker)
    if maker is None and (device or CPU)[0] == DeviceType.CPU:
        maker = CPU_ALLOCATOR
    if maker is None and device is not None:
        from .device import DeviceAllocator  # a program on the CPU does not pay for it

        maker = DeviceAllocator(DeviceType(device[0]))
        maker.device(device[1])
    if maker is None or isinstance(maker, ModuleType):
        what = f"namespace '{maker.__name__}'" if maker else f"device '{device}'"
        raise DeviceError(
            f"Fields cannot be allocated on {what} in this version.",
            hints=["Use 'numpy', a backend, or no allocator at all."],
        )
    if not isinstance(maker, CPUAllocator | Allocator):  # the protocol asks for each attribute
        raise ArgumentError(
            f"Expected an array namespace, an allocator or a backend as 'allocator', got {given!r}."
        )
    kind, number = device or (maker.__gt_device_type__, 0)
    device = Device(DeviceType(kind), number)
    if device.device_type != maker.__gt_device_type__:
        own = DeviceType(maker.__gt_device_type__).name.lower()
        raise DeviceError(f"The allocator makes memory on '{own}', but device '{device}' is given.")
    if device.device_type == DeviceType.CPU and device.device_id != 0:
        raise DeviceError(f"There is one CPU, device 'CPU:0', got '{device}'.")
    return maker, device


def _is_device(given: Any) -> bool:
    kinds = tuple(DeviceType)
    return isinstance(given, tuple) and len(given) == len(CPU) and given[0] in kinds


def _relative(domain: Domain, index: Sequence[NamedIndex] | None) -> tuple[int, ...] | None:
    if index is None:
        return None
    wanted = dict(index)
    for dim, value in wanted.items():
        if dim not in domain.dims or value not in domain[dim].unit_range:
            raise DomainError(f"The aligned index '{dim}={value}' is outside '{domain}'.")
    return tuple(wanted.get(dim, first(own)) - first(own) for dim, own in domain)


@classes.frozen
class GuardedAllocator(CPUAllocator):
    """Makes NumPy arrays, with guards around them while `gpu.null.guarded()` is on.

    The setting `FIELDFORGE_GPU_GUARD` turns guards on for a process. The arrays are dense then, so
    that the first element behind or before a field is on a page that a kernel may not touch.
    """

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[NamedIndex] | None = None,
        *,
        zeroed: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Make an array in memory of the simulated driver, or as on a CPU without guards."""
        from ... import gpu

        if gpu.null.guard() is None or not domain.shape or 0 in domain.shape:
            return CPUAllocator.__gt_allocate__(
                self, domain, dtype, device_id, aligned_index, zeroed=zeroed
            )
        device = gpu.Device(0, platform="null")
        made = gpu.Array.empty(
            domain.shape,
            dtype.dtype,
            layout=memory_order(domain.dims)[::-1],
            resource=gpu.ManagedMemoryResource(device),  # pinned memory is kept for reuse
        )
        array: np.ndarray[Any, Any] = np.asarray(made)
        if zeroed:
            array[...] = 0
        return array
