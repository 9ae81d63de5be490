"""The schemes of `columns.py` by hand: `kernels/columns.cpp` on a CPU, `columns.cu` on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Protocol

from native import compiled
from untuned_by_hand import loaded_on_gpu

FORMS: Final = {
    "adjustment": ("columns", "lanes"),
    "sedimentation": ("columns", "lanes"),
    "remapping": ("columns", "rows", "lanes"),
}
GPU_FORMS: Final = {
    "adjustment": ("columns", "points"),
    "sedimentation": ("columns", "ahead"),
    "remapping": ("columns", "ahead"),
}
THREADS: Final = (32, 64, 128)  # of a block on a GPU
Call = Callable[[], object]


class Described(Protocol):
    """What is read of a scheme with its arguments."""

    name: str
    dtype: str
    arrays: Mapping[str, Any]
    numbers: Mapping[str, Any]
    outputs: tuple[str, ...]
    shape: tuple[int, ...]


def on_cpu(of: Described) -> dict[str, Call]:
    """Return calls of the kernels for CPUs."""
    library = compiled("columns", "-fno-math-errno", "-lmvec", "-lm")
    suffix, real = {"float64": ("f64", ctypes.c_double), "float32": ("f32", ctypes.c_float)}[
        of.dtype
    ]
    numbers = [
        ctypes.c_int64(each) if isinstance(each, int) else real(each)
        for each in of.numbers.values()
    ]
    addresses = [ctypes.c_void_p(each.ctypes.data) for each in of.arrays.values()]
    sizes = (*of.shape, of.shape[0], of.shape[0] * of.shape[1])
    words = (*addresses, *numbers, *map(ctypes.c_int64, sizes))
    return {
        form: partial(library[f"columns_{of.name}_{form}_{suffix}"], *words)
        for form in FORMS[of.name]
    }


def on_gpu(of: Described) -> dict[str, Call]:
    """Return calls of the kernels for GPUs, by form and number of threads of a block."""
    return dict(_on_gpu(of))


def _on_gpu(of: Described) -> Iterator[tuple[str, Call]]:
    module = loaded_on_gpu(("columns.cu",), of.dtype)
    ni, nj, nk = of.shape
    row, plane = (each // _item(of) for each in next(iter(of.arrays.values())).strides[1:])
    real = "d" if of.dtype == "float64" else "f"
    types = "".join("P" if name in of.outputs else "R" for name in of.arrays)
    types += "".join("q" if isinstance(each, int) else real for each in of.numbers.values())
    words = (*map(_address, of.arrays.values()), *of.numbers.values(), ni, nj, nk, row, plane)
    for form in GPU_FORMS[of.name]:
        for threads in THREADS:
            grid = (-(-ni // threads), nj, nk if form == "points" else 1)
            kernel = module.kernel(f"{of.name}_{form}")
            prepared = kernel.prepare(types + "iiiqq", grid=grid, block=threads)
            yield f"{form}, {threads} threads", prepared.bind(*words)


def _address(array: Any) -> int:
    """Return the address of an array of a GPU, or of the host for a simulated one."""
    return int(array.ctypes.data if hasattr(array, "ctypes") else array.ptr)


def _item(of: Described) -> int:
    """Return the bytes of a number."""
    return 8 if of.dtype == "float64" else 4
