"""Where the fields of untuned programs lie: on the host, or on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime import gpu

SEED = 5


@attrs.frozen
class Host:
    """Memory of the host; what `untuned_by_hand.Memory` says."""

    allocator: Any = ff.cpu

    def random(self) -> Callable[[Sequence[int], str], Any]:
        """Return what draws numbers between 0 and 1."""
        return np.random.default_rng(SEED).random

    def view(self, made: Any) -> Any:
        """Return a field's memory."""
        return made.ndarray

    def copied(self, data: Any) -> Any:
        """Return an array of its own."""
        return np.array(data, order="C")

    def address(self, view: Any) -> int:
        """Return the address of an array."""
        return int(view.ctypes.data)


@attrs.frozen
class Device:
    """Memory of a GPU, as CuPy sees it."""

    allocator: Any = ff.gpu

    def random(self) -> Callable[[Sequence[int], str], Any]:
        """Return what draws numbers between 0 and 1."""
        import cupy

        draw: Callable[[Sequence[int], str], Any] = cupy.random.RandomState(SEED).random_sample
        return draw

    def view(self, made: Any) -> Any:
        """Return a field's memory."""
        import cupy

        return cupy.from_dlpack(made.ndarray)

    def copied(self, data: Any) -> Any:
        """Return an array of its own."""
        import cupy

        return cupy.array(data, order="C")

    def address(self, view: Any) -> int:
        """Return the address of an array."""
        return int(view.data.ptr)


@attrs.frozen
class Simulated(Host):
    """The null platform's device, whose memory is the host's."""

    allocator: Any = ff.gpu

    def view(self, made: Any) -> Any:
        """Return a field's memory."""
        return as_numpy(made.ndarray)

    def copied(self, data: Any) -> Any:
        """Return an array of its own."""
        own = as_numpy(gpu.Array.empty(np.shape(data), data.dtype))
        own[...] = data
        return own


def as_numpy(array: Any) -> np.ndarray:
    """Return the memory of an array of the null platform, which the result keeps."""
    reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
    memory = (ctypes.c_char * (reach + array.itemsize)).from_address(array.ptr)
    memory.owner = array
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides)
