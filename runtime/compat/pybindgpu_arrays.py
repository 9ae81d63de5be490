"""PybindGPU's arrays: each has a side on the host and one on the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .. import gpu
from .pybindgpu_errors import Status, attempt

SUPPORTED_DTYPES: Final = {
    name: np.dtype(name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
        "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip


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

    def __int__(self) -> int:
        return self._address

    def __repr__(self) -> str:
        return f"<ptr_wrapper_{self._dtype}: {hex(self._address)}>"


class DeviceArray(Status):
    """Elements on the device, and on the host, where they are a buffer of Python.

    Made of a number of elements, a shape, or a NumPy array.
    """

    def __init__(self, dtype: np.dtype[Any], given: Any, flag_c_contiguous: int = 1) -> None:
        super().__init__()
        order: Any = "C" if flag_c_contiguous else "F"
        if isinstance(given, np.ndarray):
            self._host = np.require(given, dtype)
        else:
            shape = (given,) if isinstance(given, int) else tuple(given)
            self._host = np.zeros(shape, dtype, order)
        self._buffer: gpu.Buffer | None = None

    def allocate(self) -> None:
        """Allocate the side of the device."""
        make = lambda: gpu.current_device().memory.allocate(self._host.nbytes)  # noqa: E731
        self._buffer = self.keep(attempt(make, None))

    def to_device(self) -> None:
        """Copy from the host to the device."""
        self._copy("copy_from")

    def to_host(self) -> None:
        """Copy from the device to the host."""
        self._copy("copy_to")

    def _copy(self, how: str) -> None:
        if self._buffer is None:
            self.allocate()
        side = self._host.ravel(order="K")
        if self._buffer is not None:
            self.keep(attempt(lambda: getattr(self._buffer, how)(side), None))
            if how == "copy_to" and not np.shares_memory(side, self._host):
                self._host[...] = side.reshape(self._host.shape)

    def host_data(self) -> PointerWrapper:
        """Return the address on the host."""
        return PointerWrapper(self._host.ctypes.data, self._host.dtype.name, self._host)

    def device_data(self) -> PointerWrapper:
        """Return the address on the device, 0 before it is allocated."""
        address = self._buffer.ptr if self._buffer is not None else 0
        return PointerWrapper(address, self._host.dtype.name, self._buffer)

    def size(self) -> int:
        """Return the number of elements."""
        return self._host.size

    def nbytes(self) -> int:
        """Return the number of bytes."""
        return self._host.nbytes

    def shape(self) -> list[int]:
        """Return the extents."""
        return list(self._host.shape)

    def strides(self) -> list[int]:
        """Return the strides in bytes."""
        return list(self._host.strides)

    def allocated(self) -> bool:
        """Tell whether there is memory on the device."""
        return self._buffer is not None

    def set(self, values: Any) -> None:
        """Set the side of the host."""
        self._host[...] = values

    def set_val(self, index: int, value: Any) -> None:
        """Set one element on the host, counted as it lies in memory."""
        self._host.flat[index] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._host, dtype, copy=copy) if dtype or copy else self._host


class GPUArray(Status):
    """An array by shape or of NumPy data; `to_device` and `to_host` copy it."""

    def __init__(
        self,
        given: Any,
        dtype: Any = None,
        order: str = "C",
        copy: bool = False,
        allocator: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(given, np.ndarray):
            source = np.array(given, dtype or given.dtype) if copy else given
            self._array = DeviceArray(source.dtype, source)
        else:
            kind = np.dtype(dtype or "float64")
            if allocator is not None:
                self._array = DeviceArray(kind, allocator(given, kind).get())
            else:
                self._array = DeviceArray(kind, given, int(order == "C"))
        if self._array._host.dtype.name not in SUPPORTED_DTYPES:
            raise TypeError(f"A GPUArray cannot hold '{self._array._host.dtype}'.")

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size()

    @property
    def nbytes(self) -> int:
        """The number of bytes."""
        return self._array.nbytes()

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self._array.shape())

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple(self._array.strides())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._array._host.dtype

    @property
    def ptr(self) -> int:
        """The address on the device."""
        return int(self._array.device_data())

    @property
    def host_data(self) -> PointerWrapper:
        """The address on the host."""
        return self._array.host_data()

    @property
    def device_data(self) -> PointerWrapper:
        """The address on the device."""
        return self._array.device_data()

    def last_status(self) -> Any:
        """Return the error of the last call."""
        return self._array.last_status()

    def allocate(self) -> None:
        """Allocate memory on the device."""
        self._array.allocate()

    def to_device(self) -> None:
        """Copy from the host to the device."""
        self._array.to_device()

    def to_host(self) -> None:
        """Copy from the device to the host."""
        self._array.to_host()

    def get(self, copy: bool = False) -> np.ndarray[Any, Any]:
        """Return the side of the host."""
        return np.array(self._array._host) if copy else self._array._host

    def set(self, values: Any) -> None:
        """Set the side of the host."""
        self._array.set(values)

    def set_val(self, index: int, value: Any) -> None:
        """Set one element on the host."""
        self._array.set_val(index, value)

    def __getitem__(self, index: Any) -> Any:
        """Return elements of the host; the original goes to the device and back."""
        return self._array._host[index]


def to_gpu(data: np.ndarray[Any, Any]) -> GPUArray:
    """Allocate memory on the device and copy an array there."""
    made = GPUArray(data)
    made.allocate()
    made.to_device()
    return made


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
