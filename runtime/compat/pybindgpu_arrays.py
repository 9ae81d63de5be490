"""PybindGPU's arrays: each has a side on the host and one on the device."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .. import gpu
from ..gpu.native import copy_array
from .pybindgpu_errors import Status, attempt
from .pybindgpu_memory import PointerWrapper

SUPPORTED_DTYPES: Final = {
    name: np.dtype(name)
    for name in (
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
        "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip


class DeviceArray(Status):
    """Elements on the device, and on the host, where they are a buffer of Python.

    Made of a number of elements, a shape, or a NumPy array, which `to_device` reads and nothing
    writes to.
    """

    def __init__(self, dtype: np.dtype[Any], given: Any, flag_c_contiguous: int = 1) -> None:
        super().__init__()
        order: Any = "C" if flag_c_contiguous else "F"
        self._lent = isinstance(given, np.ndarray)
        if isinstance(given, np.ndarray):
            self._host = np.require(given, dtype)
        else:
            shape = (given,) if isinstance(given, int) else tuple(given)
            self._host = np.zeros(shape, dtype, order)
        self._device: gpu.Array | None = None

    def allocate(self) -> None:
        """Allocate the side of the device; memory that is there already stays."""
        if self._device is None:
            layout = sorted(range(self._host.ndim), key=lambda axis: -self._host.strides[axis])
            make = lambda: gpu.Array.empty(self._host.shape, self._host.dtype, layout=layout)  # noqa: E731
            self._device = self.keep(attempt(make, None))

    def to_device(self) -> None:
        """Copy from the host to the device."""
        self.allocate()
        if (device := self._device) is not None:
            self.keep(attempt(lambda: device.copy_from(self._host), None))

    def to_host(self) -> None:
        """Copy from the device to the host."""
        if (device := self._device) is not None:
            target = gpu.Array.from_any(self._own_host(keep=False))
            self.keep(attempt(lambda: copy_array(target, device, None, True), None))

    def part(self, index: Any) -> DeviceArray:
        """Return a view of both sides."""
        made = DeviceArray(self._host.dtype, 0)
        made._host, made._lent = np.asarray(self._own_host()[index]), False
        made._device = self._device[index] if self._device is not None else None
        return made

    def _own_host(self, *, keep: bool = True) -> np.ndarray[Any, Any]:
        """Return the side of the host, with memory of its own; its values stay with `keep`."""
        if self._lent:
            self._lent = False
            self._host = self._host.copy("K") if keep else np.empty_like(self._host)
        return self._host

    def host_data(self) -> PointerWrapper:
        """Return the address on the host."""
        return PointerWrapper(self._host.ctypes.data, self._host.dtype.name, self._host)

    def device_data(self) -> PointerWrapper:
        """Return the address on the device, 0 before it is allocated."""
        address = self._device.ptr if self._device is not None else 0
        return PointerWrapper(address, self._host.dtype.name, self._device)

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
        return self._device is not None

    def set(self, values: Any) -> None:
        """Set the side of the host."""
        self._own_host()[...] = values

    def set_val(self, index: int, value: Any) -> None:
        """Set one element on the host, counted as it lies in memory."""
        self._own_host().flat[index] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self._host, dtype, copy=copy) if dtype or copy else self._host


class GPUArray:
    """An array by shape, which has memory on the device at once, or of NumPy data.

    `to_device` and `to_host` copy it. `get` and indices read the device, or the host where `set`
    or `set_val` changed it since the last copy. Slices are views of the memory on the device.
    """

    def __init__(
        self,
        given: Any,
        dtype: Any = None,
        order: str = "C",
        copy: bool = False,
        allocator: Any = None,
    ) -> None:
        self._host_is_newer = False
        if isinstance(given, np.ndarray):
            source = np.array(given, dtype or given.dtype) if copy else given
            self._array = DeviceArray(source.dtype, source)
        else:
            kind = np.dtype(dtype or "float64")
            memory = given if allocator is None else allocator(given, kind).get()
            self._array = DeviceArray(kind, memory, int(order == "C"))
            self._array._lent = False
        if self._array._host.dtype.name not in SUPPORTED_DTYPES:
            raise TypeError(f"A GPUArray cannot hold '{self._array._host.dtype}'.")
        if not isinstance(given, np.ndarray):
            self.allocate()

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
        """Allocate memory on the device, with the values of the host; once is enough."""
        if not self._array.allocated():
            self.to_device()

    def to_device(self) -> None:
        """Copy from the host to the device."""
        self._array.to_device()
        self._host_is_newer = False

    def to_host(self) -> None:
        """Copy from the device to the host."""
        self._array.to_host()
        self._host_is_newer = False

    def get(self, copy: bool = False) -> np.ndarray[Any, Any]:
        """Return the values, which the device has unless the host was set since."""
        if not self._host_is_newer:
            self.to_host()
        return np.array(self._array._host) if copy else self._array._host

    def set(self, values: Any) -> None:
        """Set the side of the host."""
        self._array.set(values)
        self._host_is_newer = True

    def set_val(self, index: int, value: Any) -> None:
        """Set one element on the host."""
        self._array.set_val(index, value)
        self._host_is_newer = True

    def __getitem__(self, index: Any) -> Any:
        """Return a view of the memory on the device, or one element."""
        self.allocate()
        part = GPUArray.__new__(GPUArray)
        part._array, part._host_is_newer = self._array.part(index), self._host_is_newer
        return part if part.shape else part.get()[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.get(), dtype, copy=copy) if dtype or copy else self.get()


def to_gpu(data: np.ndarray[Any, Any]) -> GPUArray:
    """Allocate memory on the device and copy an array there."""
    made = GPUArray(data)
    made.to_device()
    return made
