"""NVIDIA's management library by dlopen, as far as PybindGPU has it."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from .pybindgpu_errors import Status, cudaError_t

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
