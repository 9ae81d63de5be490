"""PybindGPU's pointers and allocators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import gpu
from .pybindgpu_errors import Status, attempt


class PointerWrapper:
    """An address with the type of what lies there."""

    def __init__(self, address: int = 0, dtype: str = "void", owner: Any = None) -> None:
        self._address, self._dtype, self._owner = address, dtype, owner

    @classmethod
    def of(cls, dtype: np.dtype[Any], address: int = 0) -> PointerWrapper:
        """Wrap an address of elements."""
        return cls(address, dtype.name)

    def create(self, count: int) -> None:
        """Allocate memory of the host for `count` elements."""
        self._owner = np.zeros(count, self._dtype)
        self._address = self._owner.ctypes.data

    def destroy(self) -> None:
        """Release the memory that `create` allocated."""
        self._owner, self._address = None, 0

    def is_safe(self) -> bool:
        """Tell whether the memory is held by this object."""
        return self._owner is not None

    def print_address(self) -> None:
        """Print the address."""
        print(hex(self._address))  # noqa: T201  # its purpose

    def get(self) -> int:
        """Return the address."""
        return self._address

    __int__ = get

    def __repr__(self) -> str:
        return f"<ptr_wrapper_{self._dtype}: {hex(self._address)}>"


class Allocator:
    """Memory that an array can be made of."""

    def __init__(self, data: np.ndarray[Any, Any], host_data: Any = None) -> None:
        self._data, self._host_data = data, host_data

    def get(self) -> np.ndarray[Any, Any]:
        """Return the memory as an array."""
        return self._data

    def ptr(self) -> int:
        """Return its address."""
        return int(self._data.ctypes.data)


def HostAllocator(shape: Sequence[int], dtype: Any) -> Allocator:  # noqa: N802
    """Allocate plain memory of the host."""
    return Allocator(np.zeros(shape, dtype))


def PagelockedAllocator(shape: Sequence[int], dtype: Any) -> Allocator:  # noqa: N802
    """Allocate memory of the host that devices copy from and to at once."""
    array = gpu.Array.empty(shape, dtype, resource=gpu.PinnedMemoryResource())
    return Allocator(np.asarray(array))


class _AllocatorOf(Status):
    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self._dtype = dtype
        self._buffer: gpu.Buffer | None = None

    def _resource(self) -> Any:
        raise NotImplementedError

    def allocate(self, count: int) -> None:
        """Allocate memory for `count` elements."""
        size = count * self._dtype.itemsize
        self._buffer = self.keep(attempt(lambda: self._resource().allocate(size), None))

    def ptr(self) -> PointerWrapper:
        """Return the address."""
        address = 0 if self._buffer is None else self._buffer.ptr
        return PointerWrapper(address, self._dtype.name, self._buffer)


class HostAllocatorOf(_AllocatorOf):
    """Allocates plain memory of the host."""

    def _resource(self) -> Any:
        return gpu.HostMemoryResource()


class DeviceAllocatorOf(_AllocatorOf):
    """Allocates memory of the current device."""

    def _resource(self) -> Any:
        return gpu.current_device().memory


class PagelockedAllocatorOf(_AllocatorOf):
    """Allocates page-locked memory of the host."""

    def _resource(self) -> Any:
        return gpu.PinnedMemoryResource()
