"""Hand-written kernels on Cartesian arrays: compile a file of `kernels/`, lay out arrays, call."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from native import compiled

LINE = 64  # bytes of a cache line
_TURNS = itertools.count()


@attrs.frozen
class Grid:
    """How the arrays of one case lie: (k, j, i), i contiguous, i = 0 of every row on a line.

    `halo` counts cells before and after the core in i and j, `levels` those in k.
    """

    ni: int
    nj: int
    nk: int
    dtype: np.dtype[Any]
    halo: int = 0
    levels: int = 0

    @property
    def ahead(self) -> int:
        """Cells of a row before i = 0."""
        return LINE // self.dtype.itemsize if self.halo else 0

    @property
    def row(self) -> int:
        """Stride of j: room for a register more than the core where there is a halo."""
        line = LINE // self.dtype.itemsize
        return -(-self.ni // line) * line + 2 * self.ahead

    @property
    def plane(self) -> int:
        """Stride of k: never a multiple of a page, so that levels do not share cache sets."""
        return self.row * (self.nj + 2 * self.halo) + 3 * LINE // self.dtype.itemsize

    def array(self, data: np.ndarray | None = None, first: Sequence[int] = (0, 0, 0)) -> Placed:
        """Make an array, zero but for `data` (i, j, k), whose first cell is at `first`."""
        size = self.plane * (self.nk + 2 * self.levels + 1) * self.dtype.itemsize
        # arrays at the same place of a page get in each other's way
        apart = next(_TURNS) % 16 * 5 * LINE
        memory = np.zeros(size + 2 * 4096 + apart, np.uint8)
        start = -memory.ctypes.data % LINE + apart
        at = (self.levels * self.plane + self.halo * self.row + self.ahead) * self.dtype.itemsize
        placed = Placed(self, memory, start + at)
        if data is not None:
            placed.view(data.shape, first)[...] = data
        return placed


@attrs.frozen(eq=False)
class Placed:
    """An array of a grid; `offset` is the byte of its core's first cell."""

    grid: Grid
    memory: np.ndarray
    offset: int

    @property
    def pointer(self) -> ctypes.c_void_p:
        """The address of the core's first cell."""
        return ctypes.c_void_p(self.memory.ctypes.data + self.offset)

    def view(self, shape: Sequence[int], first: Sequence[int] = (0, 0, 0)) -> np.ndarray:
        """Return cells as (i, j, k), without a copy."""
        size = self.grid.dtype.itemsize
        strides = (size, self.grid.row * size, self.grid.plane * size)
        at = self.offset + sum(n * step for n, step in zip(first, strides, strict=True))
        return np.ndarray(tuple(shape), self.grid.dtype, self.memory, at, strides)

    @property
    def core(self) -> np.ndarray:
        """The cells of the core as (i, j, k), without a copy."""
        return self.view((self.grid.ni, self.grid.nj, self.grid.nk))


def variant(
    kernel: str,
    name: str,
    grid: Grid,
    inputs: Sequence[Placed],
    outputs: Sequence[str],
    spare: int = 0,
    scalars: Sequence[float] = (),
) -> Callable[[], Mapping[str, np.ndarray]]:
    """Bind `<kernel>_<name>` to inputs, outputs, spare arrays, scalars, sizes and strides."""
    suffix = {4: "f32", 8: "f64"}[grid.dtype.itemsize]
    function = getattr(library(kernel), f"{kernel}_{name}_{suffix}")
    made = {output: grid.array() for output in outputs}
    kept = [*inputs, *made.values(), *(grid.array() for _ in range(spare))]
    number = {4: ctypes.c_float, 8: ctypes.c_double}[grid.dtype.itemsize]
    arguments = [each.pointer for each in kept] + [number(each) for each in scalars]
    sizes = (grid.ni, grid.nj, grid.nk, grid.row, grid.plane)
    arguments += [ctypes.c_int64(each) for each in sizes]
    results = {output: array.core for output, array in made.items()}

    def call(_keep: list[Placed] = kept) -> Mapping[str, np.ndarray]:
        function(*arguments)
        return results

    return call


def library(name: str) -> ctypes.CDLL:
    """Compile and load `kernels/<name>.cpp`."""
    return compiled(name, "-lmvec", "-lm")
