"""Copy lists of patches of a mesh to the device of the tables from which the core makes them."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..process import DeviceType
from ..process.sha256 import sha256


class Lists:
    """Owns the memory of some lists; tables with the same entries share one of these."""

    def __init__(self, array: Any, address: int) -> None:
        self.array, self.address = array, address


_known: WeakValueDictionary[tuple[str, int, int], Lists] = WeakValueDictionary()


def bring(data: bytes, device_type: int, device_id: int) -> tuple[Lists, int] | None:
    """Return the owner of a copy of `data` on a device, and the address of the copy.

    `data` are words of uint32. Returns None while a stream is captured: then nothing is copied.

    >>> numbers = np.arange(3, dtype=np.uint32).tobytes()
    >>> lists, address = bring(numbers, int(DeviceType.CPU), 0)
    >>> lists is bring(numbers, int(DeviceType.CPU), 0)[0]
    True
    """
    key = sha256(data), device_type, device_id
    lists = _known.get(key)
    if lists is None:
        lists = _made(data, DeviceType(device_type), device_id)
        if lists is None:
            return None
        _known[key] = lists
    return lists, lists.address


def _made(data: bytes, device_type: DeviceType, device_id: int) -> Lists | None:
    numbers = np.frombuffer(data, np.uint32)
    if device_type is DeviceType.CPU:
        array = numbers.copy()
        return Lists(array, array.ctypes.data)
    from .. import gpu  # a first call on a CPU does not import it, see decision 0005
    from ..process.device import PLATFORM_OF

    place = gpu.Device(device_id, platform=PLATFORM_OF[device_type])
    if gpu.current_stream(place).capturing:
        return None
    # Such memory is freed when the device has nothing left to do, since a call may still read it.
    memory = gpu.DeviceMemoryResource(place)
    made = gpu.Array.empty(numbers.shape, numbers.dtype, device=place, resource=memory)
    made.copy_from(numbers)
    gpu.current_stream(place).sync()
    return Lists(made, made.ptr)
