"""Devices: where memory lives."""

from __future__ import annotations

import enum
from typing import Any, Final, NamedTuple


class DeviceType(enum.IntEnum):
    """Kinds of devices, numbered as DLPack numbers them.

    >>> DeviceType.CPU == 1, DeviceType(2).name
    (True, 'CUDA')
    """

    CPU = 1
    CUDA = 2
    ROCM = 10
    NULL = 12  # the simulated device of the GPU runtime; an extension, to DLPack


# The platform of the GPU runtime for each kind of GPU.
PLATFORM_OF: Final = {DeviceType.CUDA: "cuda", DeviceType.ROCM: "hip", DeviceType.NULL: "null"}


class Device(NamedTuple):
    """One device; unpacks and compares like the pair that `__dlpack_device__` gives.

    >>> Device(DeviceType.CPU, 0) == (1, 0)
    True
    """

    device_type: DeviceType
    device_id: int = 0

    def __str__(self) -> str:
        return f"{self.device_type.name}:{self.device_id}"


CPU = Device(DeviceType.CPU)


def cupy_device_type() -> DeviceType | None:
    """Return the kind of device that CuPy works on, None where it is not installed."""
    import importlib.util

    if importlib.util.find_spec("cupy") is None:
        return None
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError:  # installed, but for another CUDA or ROCm than this machine has
        return None
    return DeviceType.ROCM if cupy.cuda.runtime.is_hip else DeviceType.CUDA


def __getattr__(name: str) -> Any:
    """Resolve `CUPY_DEVICE_TYPE` on first use: importing CuPy takes a second."""
    if name == "CUPY_DEVICE_TYPE":
        globals()[name] = found = cupy_device_type()
        return found
    raise AttributeError(f"Module '{__name__}' has no attribute '{name}'.")
