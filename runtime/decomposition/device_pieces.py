"""The parts of fields on GPUs in messages, which lie on that GPU or in pinned memory of the host.

A kernel gathers the elements into a dense array; if the message is on the host, it is copied there.
On the way back a kernel scatters them. All of it is queued on the current stream of the device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .. import gpu
from .pattern import Indices, Places

BLOCK: Final = 128
_KERNELS: Final = r"""
extern "C" __global__ void gather(const char* base, const long long* offsets, TYPE* packed,
                                  long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) packed[i] = *(const TYPE*)(base + offsets[i]);
}
extern "C" __global__ void scatter(char* base, const long long* offsets, const TYPE* packed,
                                   long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) *(TYPE*)(base + offsets[i]) = packed[i];
}
"""
_TYPES: Final = {
    1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long",
}  # fmt: skip


class DevicePiece:
    """The part of one field on a GPU in one message.

    Args:
        field: the field.
        array: its array.
        offsets: of the elements from the first one, in bytes and in the order of the message.
        packed: their copy in the message, in pinned memory or on the device.

    """

    def __init__(self, field: Any, array: gpu.Array, offsets: Indices, packed: gpu.Array) -> None:
        self.field, self._array, self._packed = field, array, packed
        assert array.device is not None  # `on_device` tells
        self.device = array.device
        self._count = len(offsets)
        size = self._count * array.itemsize
        self._offsets = gpu.Array.from_host(offsets, np.int64, device=self.device)
        self._is_staged = packed.device is None
        self._dense = (
            gpu.Array.empty(size, np.uint8, device=self.device) if self._is_staged else packed
        )
        self._gather, self._scatter = _kernels(self.device, array.itemsize)
        gpu.current_stream(self.device).sync()  # another stream may pack

    def pack(self) -> None:
        """Queue the copy from the field into the message."""
        if self._count:
            arguments = self._array.ptr, self._offsets, self._dense, self._count
            self._gather(*arguments, grid=-(-self._count // BLOCK))
            if self._is_staged:
                self._packed.copy_from(self._dense, stream=gpu.current_stream(self.device))

    def unpack(self) -> None:
        """Queue the copy from the message into the field."""
        if self._count:
            if self._is_staged:
                self._dense.copy_from(self._packed, stream=gpu.current_stream(self.device))
            arguments = self._array.ptr, self._offsets, self._dense, self._count
            self._scatter(*arguments, grid=-(-self._count // BLOCK))


def on_device(array: Any) -> gpu.Array | None:
    """Return an array of a GPU as ours; None for one of the host."""
    if isinstance(array, np.ndarray):
        return None
    given = gpu.Array.from_any(array)
    return given if given.device is not None else None


def pinned(size: int, device: gpu.Device) -> gpu.Array:
    """Return bytes of the host from which a device copies without a detour."""
    return gpu.Array.empty(size, np.uint8, resource=gpu.PinnedMemoryResource(device))


def offsets_of(array: gpu.Array, axes: Sequence[int], places: Places) -> Indices:
    """Return where elements lie, in bytes from the first one.

    Args:
        array: of any strides.
        axes: those of the pattern, in its order.
        places: the positions along these axes, (points,) each.

    """
    found = np.zeros(len(places[0]), np.int64)
    for axis, along in zip(axes, places, strict=True):
        found = found + along * array.strides[axis]
    for axis in (each for each in range(len(array.shape)) if each not in axes):
        found = found[..., None] + np.arange(array.shape[axis]) * array.strides[axis]
    return found.ravel()


@functools.lru_cache(maxsize=64)
def _kernels(device: gpu.Device, itemsize: int) -> tuple[Any, Any]:
    """Compile the kernels for elements of a size, once in a process."""
    image = gpu.compile_kernels(_KERNELS.replace("TYPE", _TYPES[itemsize]), arch=device.arch)
    module = gpu.Module.load(image, device=device)
    return (
        module.kernel("gather").prepare("RRPq", block=BLOCK),
        module.kernel("scatter").prepare("PRRq", block=BLOCK),
    )
