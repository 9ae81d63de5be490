"""PybindGPU's names over the GPU runtime: `from fieldforge.runtime.compat import pybindgpu`.

Functions answer `(value, error)`, or an error alone, as theirs do; nothing raises. Where the
original is wrong (PCI numbers, `set_val` through a device pointer, the array interface), this is
right. One module serves CUDA, HIP and null.

>>> from fieldforge.runtime import gpu
>>> gpu.set_platform("null")
>>> count, error = cudaGetDeviceCount()
>>> count, error
(2, <CudaError: 'code=0'>)
>>> array = GPUArray([4], dtype="float64")
>>> array.set_val(2, 5.0); array.to_device()
>>> array.get().tolist()
[0.0, 0.0, 5.0, 0.0]
>>> gpu.set_platform(None)
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .. import gpu
from ..gpu.errors import GpuError
from .pybindgpu_arrays import SUPPORTED_DTYPES, DeviceArray, GPUArray, to_gpu
from .pybindgpu_errors import Status, attempt, cudaError_t, last_error
from .pybindgpu_memory import (
    Allocator,
    DeviceAllocatorOf,
    HostAllocator,
    HostAllocatorOf,
    PagelockedAllocator,
    PagelockedAllocatorOf,
    PointerWrapper,
)

_NOT_FOUND = 12  # NVML_ERROR_LIBRARY_NOT_FOUND


class nvmlReturn_t(cudaError_t):  # noqa: N801  # PybindGPU's name
    """The code of a call of NVML."""

    def __repr__(self) -> str:
        return f"<NVMLReturn: 'code={self.code}'>"


@functools.cache
def _library() -> Any:
    try:
        return ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None


def _call(name: str, *arguments: Any) -> nvmlReturn_t:
    library = _library()
    return nvmlReturn_t(_NOT_FOUND if library is None else getattr(library, name)(*arguments))


def nvmlInit() -> nvmlReturn_t:  # noqa: N802
    """Begin to use NVML; an error code where it is not installed."""
    return _call("nvmlInit_v2")


def nvmlShutdown() -> nvmlReturn_t:  # noqa: N802
    """End the use of NVML."""
    return _call("nvmlShutdown")


class nvmlDevice(Status):  # noqa: N801
    """What NVML knows of a device."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self._handle = ctypes.c_void_p()
        self.note(_call("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self._handle)))

    def utilization_rates(self) -> tuple[int, int]:
        """Return how busy the device and its memory are, in percent."""
        found = (ctypes.c_uint * 2)()
        self.note(_call("nvmlDeviceGetUtilizationRates", self._handle, found))
        return found[0], found[1]

    def memory_info(self) -> tuple[int, int, int]:
        """Return the bytes that are free, all, and those in use."""
        found = (ctypes.c_ulonglong * 3)()  # total, free, used
        self.note(_call("nvmlDeviceGetMemoryInfo", self._handle, found))
        return found[1], found[0], found[2]


major_version, minor_version, release_version = 0, 2, 1


def use_hip() -> bool:
    """Tell whether the platform is AMD's; the original knows at build time."""
    return gpu.platform() == "hip"


def cuda_enabled() -> bool:
    """Tell whether the platform is NVIDIA's."""
    return gpu.platform() == "cuda"


def cudaGetDeviceCount() -> tuple[int, cudaError_t]:  # noqa: N802  # PybindGPU's name
    """Count the devices."""
    return attempt(lambda: len(_devices()), 0)


def cudaGetDevice() -> tuple[int, cudaError_t]:  # noqa: N802
    """Return the number of the current device."""
    return attempt(lambda: gpu.current_device().id, 0)


def cudaSetDevice(device: int) -> cudaError_t:  # noqa: N802
    """Make a device current."""
    return attempt(lambda: gpu.Device(device).set_current(), None)[1]


def cudaDeviceSynchronize() -> cudaError_t:  # noqa: N802
    """Wait for the current device."""
    return attempt(lambda: gpu.current_device().sync(), None)[1]


def cudaDeviceReset() -> cudaError_t:  # noqa: N802
    """Wait for the device; it is not reset, because other libraries share its context."""
    warnings.warn("The device is not reset: CuPy and torch share its context.", stacklevel=2)
    return cudaDeviceSynchronize()


def cudaGetLastError() -> cudaError_t:  # noqa: N802
    """Return the last error, and forget it."""
    return last_error(forget=True)


def cudaGetErrorName(error: cudaError_t) -> str:  # noqa: N802
    """Return the vendor's name of an error."""
    return error.name


def cudaGetErrorString(error: cudaError_t) -> str:  # noqa: N802
    """Return what an error means."""
    return error.text


class cudaEvent_t(Status):  # noqa: N801
    """An event, made at once; `flags` 1 blocks, 2 does not time."""

    def __init__(self, flags: int = 0) -> None:
        super().__init__()
        make = lambda: gpu.Event(timing=not flags & 2, blocking=bool(flags & 1))  # noqa: E731
        self.event: Any = self.keep(attempt(make, None))

    def get(self) -> PointerWrapper:
        """Return the address of the handle."""
        return PointerWrapper(self.event.ptr, "void", self)


class cudaStream_t(Status):  # noqa: N801
    """A stream, made at once; `flags` 1 does not wait for the default stream."""

    def __init__(self, flags: int = 0) -> None:
        super().__init__()
        make = lambda: gpu.Stream(nonblocking=bool(flags & 1))  # noqa: E731
        self.stream: Any = self.keep(attempt(make, None))

    def get(self) -> PointerWrapper:
        """Return the address of the handle."""
        return PointerWrapper(self.stream.ptr, "void", self)


def cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t | None = None) -> cudaError_t:  # noqa: N802
    """Record an event; without a stream on the default one, as CUDA does."""

    def record() -> object:
        target: Any = stream.stream if stream is not None else gpu.Stream.from_handle(0)
        return event.event.record(target)

    return event.note(attempt(record, None)[1])


def cudaEventSynchronize(event: cudaEvent_t) -> cudaError_t:  # noqa: N802
    """Wait for an event."""
    return event.note(attempt(event.event.sync, None)[1])


def cudaEventElapsedTime(start: cudaEvent_t, end: cudaEvent_t) -> tuple[float, cudaError_t]:  # noqa: N802
    """Return the milliseconds between two events."""
    return attempt(lambda: end.event - start.event, 0.0)


class cudaDeviceProp(Status):  # noqa: N801
    """The properties of a device."""

    def __init__(self, device: int) -> None:
        super().__init__()
        # Without such a device the status holds the error, and its properties fail.
        self.device: gpu.Device = self.keep(attempt(lambda: gpu.Device(device), None))  # type: ignore[assignment]  # see above

    def get(self) -> gpu.Device:
        """Return the device."""
        return self.device

    def name(self) -> str:
        """Return its name."""
        return self.device.name

    def uuid(self) -> bytes:
        """Return its 16 bytes."""
        return self.device.uuid

    def pciBusID(self) -> int:  # noqa: N802
        """Return the number of the bus."""
        return int(self.device.pci_bus_id.split(":")[1], 16)

    def pciDeviceID(self) -> int:  # noqa: N802
        """Return the number on the bus."""
        return int(self.device.pci_bus_id.split(":")[2].partition(".")[0], 16)

    def pciDomainID(self) -> int:  # noqa: N802
        """Return the number of the domain."""
        return int(self.device.pci_bus_id.split(":")[0], 16)


def _devices() -> Sequence[int]:
    name = gpu.platform()
    if name is None:
        raise GpuError.of(100, "NO_DEVICE", "", "", "There is no GPU.")
    return range(gpu.device_count(name))


def _for_dtype(make: Callable[..., Any], dtype: str) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        return make(np.dtype(dtype), *args, **options)

    made.__name__ = f"{make.__name__}_{dtype}"
    return made


_FAMILIES: Final[dict[str, Callable[..., Any]]] = {
    "DeviceArray": DeviceArray,
    "HostAllocator": HostAllocatorOf,
    "DeviceAllocator": DeviceAllocatorOf,
    "PagelockedAllocator": PagelockedAllocatorOf,
    "ptr_wrapper": PointerWrapper.of,
    "pointer_wrapper": PointerWrapper.of,
}


def __getattr__(name: str) -> Any:
    """Find `DeviceArray_float64` and other names that end in a dtype, and the module `PyGPU`."""
    if name == "PyGPU":
        return importlib.import_module(".PyGPU", __package__)
    family, _, dtype = name.rpartition("_")
    if family in _FAMILIES and dtype in SUPPORTED_DTYPES:
        return _for_dtype(_FAMILIES[family], dtype)
    raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")


__all__ = [
    "SUPPORTED_DTYPES", "Allocator", "DeviceArray", "GPUArray", "HostAllocator",
    "PagelockedAllocator", "cudaDeviceProp", "cudaDeviceReset", "cudaDeviceSynchronize",
    "cudaError_t", "cudaEventElapsedTime", "cudaEventRecord", "cudaEventSynchronize", "cudaEvent_t",
    "cudaGetDevice", "cudaGetDeviceCount", "cudaGetErrorName", "cudaGetErrorString",
    "cudaGetLastError", "cudaSetDevice", "cudaStream_t", "cuda_enabled", "major_version",
    "minor_version", "nvmlDevice", "nvmlInit", "nvmlReturn_t", "nvmlShutdown", "release_version",
    "to_gpu", "use_hip",
]  # fmt: skip
