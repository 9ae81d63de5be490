"""Fields on GPUs: memory from the GPU runtime, laid out as device code reads it fastest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import gpu
from ...gpu.errors import GpuError
from ...gpu.rows import slowest_first
from ...language import Dimension, DimensionKind, Domain, DType
from ...process import PLATFORM_OF, Device, DeviceError, DeviceType, classes
from ..alignment import first
from ..layout import memory_order

ALIGNMENT: Final = 128  # bytes of one memory transaction of a warp


@classes.frozen
class DeviceAllocator:
    """Makes arrays on a GPU, of CuPy where that is installed and of the GPU runtime otherwise.

    The contiguous dimension is that of a CPU: the first of several horizontal ones, and on meshes
    the vertical one (docs/decisions/0022). Index 0 of every row lies on 128 bytes, so that kernels
    may load several numbers at once; rows of neighbour tables have no gaps.

    >>> Cell, K = Dimension("Cell"), Dimension("K", DimensionKind.VERTICAL)
    >>> allocator = DeviceAllocator(DeviceType.NULL)
    >>> allocator.allocate((5, 3), (Cell, Cell), np.dtype("f4")).strides
    (4, 128)
    >>> allocator.allocate((5, 3), (Cell, K), np.dtype("f4")).strides
    (128, 4)
    """

    __gt_device_type__: DeviceType = classes.field(alias="device_type")

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[Any] | None = None,
    ) -> Any:
        """Make an array; its values may be anything."""
        index = None
        if aligned_index is not None:
            wanted = dict(aligned_index)
            index = [int(wanted.get(dim, first(own)) - first(own)) for dim, own in domain]
        elif all(own.is_finite() and own.start <= 0 < own.stop for own in domain.ranges):
            index = [-first(own) for own in domain.ranges]
        made = self.allocate(domain.shape, domain.dims, dtype.dtype, device_id, index)
        return as_cupy(made)

    def device(self, device_id: int) -> gpu.Device:
        """Return a device of the GPU runtime, or say why there is none."""
        try:
            return gpu.Device(device_id, platform=PLATFORM_OF[self.__gt_device_type__])
        except GpuError as error:
            name = Device(self.__gt_device_type__, device_id)
            raise DeviceError(f"Fields cannot be allocated on '{name}': {error.message}") from error

    def allocate(
        self,
        shape: Sequence[int],
        dims: Sequence[Dimension],
        dtype: np.dtype[Any],
        device_id: int = 0,
        aligned_index: Sequence[int] | None = None,
    ) -> gpu.Array:
        """Make an array of the GPU runtime, which owns a buffer."""
        place = self.device(device_id)
        order = memory_order(dims)
        by_row = bool(order) and dims[order[0]].kind is DimensionKind.LOCAL
        return gpu.Array.empty(
            shape,
            dtype,
            device=place,
            layout=order[::-1],
            alignment=None if by_row else ALIGNMENT,
            aligned_index=aligned_index,
        )


def as_cupy(array: gpu.Array) -> Any:
    """Return CuPy's view of an array on a GPU, or the array itself where CuPy is not installed."""
    from ...process.device import cupy_device_type

    is_simulated = array.device is not None and array.device.platform == "null"
    if array.device is None or is_simulated or cupy_device_type() is None:
        return array
    import cupy

    return cupy.from_dlpack(array)


def copy_in(target: Any, source: Any) -> None:
    """Copy values to an array on a device, and cast them."""
    ours = gpu.Array.from_any(target)
    given = gpu.Array.from_any(source)
    if given.device is None or given.dtype != ours.dtype:  # casts are made on the host
        values = np.asarray(given) if given.device is None else given.to_host()
        given = gpu.Array.from_any(values.astype(ours.dtype, copy=False))
    ours.copy_from(given)
    gpu.current_stream(ours.device).sync()  # a CuPy view may be used on any stream


def copied_as_it_lies(source: np.ndarray[Any, Any], near: Any) -> Any:
    """Copy an array of the host to the device of another one; axes keep their order in memory."""
    given, place = gpu.Array.from_any(source), gpu.Array.from_any(near).device
    assert place is not None, "a field of a device is in its memory"
    made = gpu.Array.empty(
        given.shape, given.dtype, device=place, layout=slowest_first(given), alignment=ALIGNMENT
    )
    copy_in(made, given)
    return as_cupy(made)


def fill(target: Any, value: Any) -> None:
    """Set every element of an array on a device."""
    ours = gpu.Array.from_any(target)
    ours.fill(value)
    gpu.current_stream(ours.device).sync()


def wait_for(device_type: int, device_id: int) -> None:
    """Wait until a device has done all that it was given, on every stream."""
    gpu.Device(device_id, platform=PLATFORM_OF[DeviceType(device_type)]).sync()
