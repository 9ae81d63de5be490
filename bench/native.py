"""Hand-written C++: compile it, bind its arguments once, choose its threads."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fieldforge.runtime import _core

# libgomp's threads wait in a busy loop for about a millisecond, and not until the next variant has
# its turn: by default that is 300,000 instructions `pause`, 14 milliseconds on some processors.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")

KERNELS = Path(__file__).parent / "kernels"
FLAGS = "-O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math"


@functools.cache
def compiled(name: str, *more: str) -> ctypes.CDLL:
    """Compile `kernels/<name>.cpp`, with `more` flags after the usual ones, and load it."""
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "kernel.so")
        source = KERNELS / f"{name}.cpp"
        subprocess.run(["c++", *FLAGS.split(), *more, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def bound(function: Any, arrays: Sequence[np.ndarray], sizes: Sequence[int]) -> Callable[[], None]:
    """Bind the arguments of a C function; the returned call keeps the arrays alive."""
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    arguments += [ctypes.c_int64(size) for size in sizes]

    def call(_keep: Sequence[np.ndarray] = tuple(arrays)) -> None:
        function(*arguments)

    return call


def use_threads(count: int) -> None:
    """Let ours and the hand-written kernels use `count` threads from now on."""
    _core.set_threads(count)
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(count)
