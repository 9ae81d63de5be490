"""`Array`: memory of a device with a shape, which kernels take without conversion."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .native import (
    ArrayBase,
    Buffer,
    Device,
    HostMemoryResource,
    PinnedMemoryResource,
    Stream,
    array_on,
    copy_array,
    current_device,
    import_array,
)
from .rows import rows_differ, slowest_first

_Class = TypeVar("_Class")

# The codes of DLPack for the kinds of NumPy.
_CODES: Final = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_KINDS: Final = {code: kind for kind, code in _CODES.items()}
_BFLOAT16: Final = (4, 16)
_WIDE: Final = (1, 2, 4)


def _code_of(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.name == "bfloat16":
        return _BFLOAT16
    if dtype.kind not in _CODES or not dtype.isnative:
        raise TypeError(f"An array cannot hold '{dtype}'.")
    return _CODES[dtype.kind], dtype.itemsize * 8


@functools.cache
def _dtype_of(code: int, bits: int) -> np.dtype[Any]:
    if (code, bits) == _BFLOAT16:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    if code not in _KINDS:
        raise TypeError(f"NumPy has no dtype for elements of {bits} bits (code {code} of DLPack).")
    return np.dtype("?" if code == _CODES["b"] else f"{_KINDS[code]}{bits // 8}")


def _strides_of(
    shape: Sequence[int], itemsize: int, layout: Sequence[int], alignment: int | None
) -> tuple[int, ...]:
    """Return strides in bytes; `layout` lists the axes from the slowest to the fastest."""
    strides = [0] * len(shape)
    step = itemsize
    for position, axis in enumerate(reversed(layout)):
        strides[axis] = step
        step *= max(shape[axis], 1)
        if position == 0 and alignment is not None and len(shape) > 1:
            step = -(-step // math.lcm(alignment, itemsize)) * math.lcm(alignment, itemsize)
    return tuple(strides)


def _into_base(members: type[_Class]) -> type[_Class]:
    """Move the members of a class to `ArrayBase`, which is `Array` from then on.

    Objects of a class of Python cost twice as much to make as those of a native class.
    """
    own = {"__dict__", "__weakref__", "__slots__"}
    for name, member in vars(members).items():
        if name not in own:
            setattr(ArrayBase, name, member)
    ArrayBase.__name__ = ArrayBase.__qualname__ = members.__name__
    grown: Any = ArrayBase
    return cast(type[_Class], grown)


@_into_base
class Array(ArrayBase):
    """Memory with a shape, strides in bytes and a dtype, on a device or on the host.

    It is exchanged without a copy: `Array.from_any(x)` takes arrays of CuPy, torch, JAX, NumPy and
    whatever speaks DLPack, and `cupy.from_dlpack(array)` and its like take ours.

    >>> device = Device(0, platform="null")
    >>> array = Array.from_host(np.arange(6.0).reshape(2, 3), device=device)
    >>> array.shape, array.dtype, array[1, 1:].to_host()
    ((2, 3), dtype('float64'), array([4., 5.]))
    """

    __slots__ = ()

    @classmethod
    def empty(
        cls,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = np.float64,
        *,
        device: Device | int | None = None,
        layout: Sequence[int] | None = None,
        alignment: int | None = None,
        aligned_index: Sequence[int] | None = None,
        resource: Any = None,
        stream: Any = None,
    ) -> Array:
        """Allocate an array whose values may be anything.

        `layout` lists the axes from the slowest to the fastest (C order if None). `alignment` pads
        rows so that `aligned_index` (the first element if None) lies on a multiple of so many
        bytes in every row. Memory comes from `resource`, or from that of the device.

        >>> device = Device(0, platform="null")
        >>> Array.empty((4, 5), np.float32, device=device, alignment=128).strides
        (128, 4)
        """
        extents = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
        kind = np.dtype(dtype)
        code, bits = _code_of(kind)
        axes = tuple(range(len(extents))) if layout is None else tuple(layout)
        if sorted(axes) != list(range(len(extents))):
            raise ValueError(f"The layout must name each axis once, got {axes}.")
        strides = _strides_of(extents, kind.itemsize, axes, alignment)
        index = (0,) * len(extents) if aligned_index is None else tuple(aligned_index)
        place = None if resource is not None and device is None else _device(device)
        maker = place.memory if resource is None and place is not None else resource
        slack = alignment - 1 if alignment else 0
        span = sum((n - 1) * s for n, s in zip(extents, strides, strict=True)) + kind.itemsize
        buffer = maker.allocate(span + slack if 0 not in extents else 0, stream=stream)
        ahead = sum(i * s for i, s in zip(index, strides, strict=True))
        offset = -(buffer.ptr + ahead) % alignment if alignment and buffer.ptr else 0
        made: Array = array_on(buffer, offset, extents, strides, code, bits)
        return made

    @classmethod
    def zeros(
        cls, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float64, **options: Any
    ) -> Array:
        """Allocate an array of zeros; the options are those of `empty`."""
        return cls.full(shape, 0, dtype, **options)

    @classmethod
    def full(
        cls,
        shape: int | Sequence[int],
        value: Any,
        dtype: npt.DTypeLike = np.float64,
        **options: Any,
    ) -> Array:
        """Allocate an array of one value; the options are those of `empty`."""
        made = cls.empty(shape, dtype, **options)
        made.fill(value, stream=options.get("stream"))
        return made

    @classmethod
    def from_host(
        cls,
        data: npt.ArrayLike,
        dtype: npt.DTypeLike | None = None,
        **options: Any,
    ) -> Array:
        """Allocate an array on a device and copy `data` there; the options are those of `empty`."""
        source = np.asarray(data, dtype)
        made = cls.empty(source.shape, source.dtype, **options)
        made.copy_from(source, stream=options.get("stream"))
        return made

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of NumPy that the elements have."""
        return _dtype_of(*self._type)

    def fill(self, value: Any, *, stream: Any = None) -> None:
        """Set every element, in the order of a stream."""
        if self.size == 0:
            return
        item = np.array(value, self.dtype)
        pattern = item.tobytes()
        buffer = self.owner
        width = next((w for w in _WIDE if pattern == pattern[:w] * (len(pattern) // w)), None)
        whole = isinstance(buffer, Buffer) and self.is_dense
        if whole and width is not None and self.device is not None:
            part = Buffer.from_handle(
                self.ptr, self.nbytes, device=self.device, owner=buffer, stream=buffer.stream
            )
            buffer.use_on(stream)
            part.fill(int.from_bytes(pattern[:width], "little"), width=width, stream=stream)
        else:
            self.copy_from(np.full(self.shape, item), stream=stream)

    def copy_from(self, source: Any, *, stream: Any = None) -> None:
        """Copy an array of the same shape and dtype, of any library, in the order of a stream.

        Where the source is memory of the host, the call returns when that may be changed again.
        """
        given = import_array(source)
        here, there = self.device, given.device
        others = here is not None and there is not None and here is not there
        if others and not here.can_access(there):  # type: ignore[union-attr, arg-type]  # as 'others' says
            given = import_array(given.to_host())  # by way of the host
        wait = given.device is None and not isinstance(given.owner, Buffer)
        if self.device is None and given.device is None:
            np.asarray(self)[...] = np.asarray(given)
            return
        if wait and rows_differ(self, given):
            given = _in_rows_of(self, given)
        copy_array(self, given, stream, wait)

    def to_host(self, *, stream: Any = None, pinned: bool = False) -> np.ndarray[Any, Any]:
        """Return a complete copy in NumPy, in C order; in `pinned` memory in that of the array."""
        kind = self.dtype
        if self.device is None:
            return np.array(self, copy=True)
        maker: Any = PinnedMemoryResource(self.device) if pinned else HostMemoryResource()
        host = Array.empty(self.shape, kind, resource=maker, layout=slowest_first(self))
        copy_array(host, self, stream, True)
        found = _on_numpy(host, kind)
        return found if pinned else np.asarray(found, order="C")

    def get(self) -> np.ndarray[Any, Any]:
        """Return a copy in NumPy, under the name that CuPy has for it."""
        return self.to_host()

    def copy(self, *, device: Device | int | None = None, stream: Any = None) -> Array:
        """Return a dense copy, on the same device or another one."""
        place = self.device if device is None else _device(device)
        if place is None:
            return Array.from_any(np.array(self))
        made = Array.empty(self.shape, self.dtype, device=place, stream=stream)
        made.copy_from(self, stream=stream)
        return made

    def reshape(self, *shape: int) -> Array:
        """Return a view of another shape; the array must be dense."""
        if not self.is_dense or math.prod(shape) != self.size:
            raise ValueError(f"An array of shape {self.shape} cannot be seen as {shape}.")
        return self._view(0, shape, _strides_of(shape, self.itemsize, range(len(shape)), None))

    def transpose(self, *axes: int) -> Array:
        """Return a view with the axes in another order, the reverse one if none is given."""
        order = axes or tuple(reversed(range(self.ndim)))
        return self._view(
            0, tuple(self.shape[i] for i in order), tuple(self.strides[i] for i in order)
        )

    def __getitem__(self, index: Any) -> Array:
        """Return a view at integers and slices."""
        places = list(index) if isinstance(index, tuple) else [index]
        if Ellipsis in places:
            at = places.index(Ellipsis)
            places[at : at + 1] = [slice(None)] * (self.ndim - len(places) + 1)
        places += [slice(None)] * (self.ndim - len(places))
        if len(places) > self.ndim:
            raise IndexError(f"Too many indices for an array of {self.ndim} axes.")
        offset, shape, strides = 0, [], []
        for place, extent, stride in zip(places, self.shape, self.strides, strict=True):
            if isinstance(place, slice):
                start, stop, step = place.indices(extent)
                count = len(range(start, stop, step))
                offset += start * stride if count else 0
                shape.append(count)
                strides.append(stride * step)
            else:
                offset += range(extent)[place] * stride
        return self._view(offset, tuple(shape), tuple(strides))

    def __setitem__(self, index: Any, value: Any) -> None:
        part = self[index]
        if np.isscalar(value):
            part.fill(value)
        else:
            part.copy_from(value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("An array without axes has no length.")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and self.device is not None and not self.is_host_accessible:
            raise ValueError("An array of a device cannot be an array of NumPy without a copy.")
        found = _on_numpy(self, self.dtype) if self.is_host_accessible else self.to_host()
        return np.array(found, dtype) if copy else found.astype(dtype or found.dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Hand the array over; `stream` of the consumer waits for ours, -1 asks for no order."""
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if dl_device[0] != 1 or copy is False:
                raise BufferError(f"The array lies on {self.__dlpack_device__()}, not {dl_device}.")
            return self.to_host().__dlpack__(max_version=max_version)
        if copy:
            return self.copy(stream=None)._export(stream, max_version)
        return self._export(stream, max_version)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; CUDA's devices only, as its name says."""
        if self.device is None or self.device.platform != "cuda":
            raise AttributeError("Only arrays on a CUDA device have a CUDA array interface.")
        stream = self.stream
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ptr if self.size else 0, self.readonly),
            "version": 3,
            "strides": None if self.is_dense else self.strides,
            "stream": (stream.ptr or 1) if stream is not None else None,
        }

    def __repr__(self) -> str:
        place = "the host" if self.device is None else repr(self.device)
        return f"<Array of {self.dtype}{list(self.shape)} on {place}>"


def _in_rows_of(one: Array, other: Array) -> Array:
    """Return a copy of an array on the host with the rows of another one."""
    host: Any = HostMemoryResource()
    made = Array.empty(one.shape, one.dtype, resource=host, layout=slowest_first(one))
    _on_numpy(made, one.dtype)[...] = np.asarray(other)
    return made


def _on_numpy(array: Array, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if _code_of(kind) == _BFLOAT16:  # Python's buffers have no format for it
        raw = array_on(array.owner, 0, array.shape, array.strides, 1, 16)
        return np.asarray(memoryview(raw)).view(kind)
    return np.asarray(memoryview(array))


def _device(given: Device | int | None) -> Device:
    if given is None:
        return current_device()
    return Device(given) if isinstance(given, int) else given


__all__ = ["Array", "Stream"]
