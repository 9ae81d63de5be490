"""Numbers in the place of fields without dimensions, for programs on GPUs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import gpu
from ..process import PLATFORM_OF, DeviceType


def number_on(value: Any, dtype: str, device_type: int, device_id: int) -> gpu.Array:
    """Return an array without axes on a device; nobody may write to it.

    Numbers that were asked for before are there already. The memory of others is freed when the
    device has nothing left to do, since a call may still read it.
    """
    bits = np.dtype(dtype).type(value).tobytes()
    return _kept(bits, dtype, DeviceType(device_type), device_id)


@functools.lru_cache(maxsize=1024)
def _kept(bits: bytes, dtype: str, device_type: DeviceType, device_id: int) -> gpu.Array:
    place = gpu.Device(device_id, platform=PLATFORM_OF[device_type])
    memory = gpu.DeviceMemoryResource(place)
    array = gpu.Array.empty((), np.dtype(dtype), device=place, resource=memory)
    array.copy_from(np.frombuffer(bits, dtype).reshape(()))
    gpu.current_stream(place).sync()
    return array
