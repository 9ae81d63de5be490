"""Hand-written kernels: compiled once, called with arrays that are aligned as an expert would."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).parent.parent / "kernels"
FLAGS = "-O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math"
LINE = 64


@cache
def library(name: str) -> ctypes.CDLL:
    """Compile `kernels/<name>.cpp` and load it."""
    with tempfile.TemporaryDirectory() as scratch:
        built = Path(scratch, f"{name}.so")
        source = KERNELS / f"{name}.cpp"
        subprocess.run(["c++", *FLAGS.split(), str(source), "-o", str(built)], check=True)
        return ctypes.CDLL(str(built))


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
    """Bind arrays and sizes of a C function; what is returned calls it and gives `results`."""
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
