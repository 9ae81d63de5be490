"""The protocols by which other libraries read a field: DLPack, `__array__` and `__gt_...__`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..language.domain import Domain


class BufferInfo(NamedTuple):
    """The memory of a field: address, shape, strides in bytes, device as DLPack numbers it."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]


class Interchange:
    """The attributes of fields that other libraries read; `Field` inherits them."""

    __slots__ = ()
    domain: Any
    dims: Any
    dtype: Any
    ndarray: Any
    starts: Any
    shape: Any
    strides: Any
    pointer: Any
    device_type: int
    device_id: int

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the values as a NumPy array."""
        raise NotImplementedError

    @property
    def __gt_domain__(self) -> Domain:
        """The domain, under the name that other tools look for."""
        domain: Domain = self.domain
        return domain

    @property
    def __gt_dims__(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(dim.value for dim in self.dims)

    @property
    def __gt_origin__(self) -> tuple[int, ...]:
        """Where index 0 of the domain lies in the array."""
        return tuple(-start for start in self.starts)

    @property
    def __gt_buffer_info__(self) -> BufferInfo:
        """Address, shape, strides and device of the memory."""
        device = (self.device_type, self.device_id)
        return BufferInfo(self.pointer, self.shape, self.strides, device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.asnumpy()
        if copy is False and dtype is not None and array.dtype != dtype:
            raise ValueError(f"A field of '{self.dtype}' cannot be '{dtype}' without a copy.")
        return np.array(array, dtype) if copy else array.astype(dtype or array.dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        options = {
            "stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy
        }  # fmt: skip
        # Arrays before DLPack 1 take 'stream' only.
        given = {name: value for name, value in options.items() if value is not None}
        return self.ndarray.__dlpack__(**given)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device_type, self.device_id
