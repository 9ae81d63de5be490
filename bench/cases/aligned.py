"""Arrays that begin on a cache line, and the hand-written kernels that are called with them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

LINE = 64


def zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array that begins on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def aligned(data: np.ndarray) -> np.ndarray:
    """Return a copy that begins on a cache line."""
    copy = zeros(data.shape, data.dtype)
    copy[...] = data
    return copy


def bound(
    function: Any, arguments: tuple[Any, ...], results: Mapping[str, np.ndarray]
) -> Callable[[], Mapping[str, np.ndarray]]:
    """Bind arrays and sizes of a C function; return a call that gives `results`."""
    words = [
        ctypes.c_void_p(each.ctypes.data)
        if isinstance(each, np.ndarray)
        else ctypes.c_double(each)
        if isinstance(each, float)
        else ctypes.c_int64(each)
        for each in arguments
    ]

    def call(_keep: tuple[Any, ...] = arguments) -> Mapping[str, np.ndarray]:
        function(*words)
        return results

    return call
