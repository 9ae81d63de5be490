"""Reduce an array on a GPU where it lies, in the order of the native core.

`native/reduce.cpp` has the order: rows of at most 4096 elements, eight accumulators a row, rows of
a chunk one after another, chunks pairwise. Here a thread is one accumulator, then one chunk; the
host combines the chunks, which are few. So equal strides give equal bits on the host and on every
GPU, whatever the number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from .. import gpu
from ..process import classes

LANES: Final = 8
CHUNK: Final = 4096
MOST_AXES: Final = 3  # beside the innermost one, after axes that are one in memory were merged
BLOCK: Final = 128
C_TYPES: Final = {
    "bool": "unsigned char", "int8": "signed char", "uint8": "unsigned char", "int16": "short",
    "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "float32": "float", "float64": "double",
}  # fmt: skip
# How two values become one; a number that is not equal to itself is NaN, which stays.
_JOIN: Final = {
    "sum": "a + b",
    "squares": "a + b",
    "max": "(b != b ? b : b > a ? b : a)",
    "min": "(b != b ? b : b < a ? b : a)",
}
_KERNELS: Final = r"""
__device__ static VALUE join(VALUE a, VALUE b) { return JOIN; }
extern "C" __global__ void lanes(const char* base, VALUE* parts, long long rows, long long pieces,
                                 long long extent, long long stride, long long e0, long long s0,
                                 long long e1, long long s1, long long e2, long long s2) {
  const long long number = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = number / 8, lane = number % 8;
  if (row >= rows) return;
  long long outer = row / pieces, first = row % pieces * 4096, offset = first * stride;
  offset += outer % e2 * s2;
  outer /= e2;
  offset += outer % e1 * s1;
  outer /= e1;
  offset += outer % e0 * s0;
  const long long left = extent - first, count = left < 4096 ? left : 4096;
  VALUE part = FIRST;
  for (long long i = lane; i < count; i += 8) {
    const VALUE x = (VALUE) * (const TYPE*)(base + offset + i * stride);
    part = join(part, TAKEN);
  }
  parts[number] = part;
}
extern "C" __global__ void chunks(const VALUE* parts, VALUE* sums, long long rows,
                                  long long rows_per_chunk, long long count) {
  const long long chunk = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (chunk >= count) return;
  VALUE total = FIRST;
  for (long long row = chunk * rows_per_chunk; row < (chunk + 1) * rows_per_chunk && row < rows;
       ++row) {
    const VALUE* p = parts + row * 8;
    const VALUE a = join(join(p[0], p[4]), join(p[2], p[6]));
    const VALUE b = join(join(p[1], p[5]), join(p[3], p[7]));
    total = join(total, join(a, b));
  }
  sums[chunk] = total;
}
"""


@classes.frozen
class Rows:
    """Where the rows of an array lie: its innermost axis, cut into pieces, is a row."""

    base: int
    outer: tuple[tuple[int, int], ...]  # extents and strides in bytes, the slowest first
    extent: int
    stride: int

    @property
    def pieces(self) -> int:
        """The rows of each innermost axis."""
        return -(-self.extent // CHUNK)

    @property
    def count(self) -> int:
        """All rows."""
        return self.pieces * int(np.prod([extent for extent, _ in self.outer], dtype=np.int64))

    @property
    def per_chunk(self) -> int:
        """The rows of a chunk."""
        return max(1, CHUNK // max(1, min(self.extent, CHUNK)))


def rows_of(base: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Rows:
    """Sort the axes by stride, and merge those that are one in memory.

    >>> rows_of(0, (2, 3, 4), (96, 32, 8), 8)
    Rows(base=0, outer=(), extent=24, stride=8)
    """
    axes = [(extent, stride) for extent, stride in zip(shape, strides, strict=True) if extent != 1]
    for place, (extent, stride) in enumerate(axes):
        if stride < 0 and extent > 0:
            base += (extent - 1) * stride
            axes[place] = extent, -stride
    merged: list[tuple[int, int]] = []
    for extent, stride in sorted(axes, key=lambda axis: -axis[1]):
        if merged and merged[-1][1] == extent * stride:
            merged[-1] = merged[-1][0] * extent, stride
        else:
            merged.append((extent, stride))
    *outer, (extent, stride) = merged or [(1, itemsize)]
    return Rows(base, tuple(outer), extent, stride)


def reduce_on_device(array: Any, reduction: str, wide: np.dtype[Any]) -> Any:
    """Reduce an array on its device; None if it has too many axes for that.

    Args:
        array: an array of a GPU, of any library.
        reduction: 'sum', 'squares', 'max' or 'min'.
        wide: the dtype to compute in.

    """
    given = gpu.Array.from_any(array)
    if given.device is None:
        return None
    rows = rows_of(given.ptr, given.shape, given.strides, given.itemsize)
    if len(rows.outer) > MOST_AXES:
        return None
    if rows.count == 0:
        return wide.type(0)
    count = -(-rows.count // rows.per_chunk)
    lanes, chunks = _kernels(given.device, str(given.dtype), wide.name, reduction)
    parts = gpu.Array.empty(rows.count * LANES, wide, device=given.device)
    sums = gpu.Array.empty(count, wide, device=given.device)
    axes = [(1, 0)] * (MOST_AXES - len(rows.outer)) + list(rows.outer)
    numbers = [number for axis in axes for number in axis]
    blocks = -(-rows.count * LANES // BLOCK)
    lanes(rows.base, parts, rows.count, rows.pieces, rows.extent,
          rows.stride, *numbers, grid=blocks)  # fmt: skip
    chunks(parts, sums, rows.count, rows.per_chunk, count, grid=-(-count // BLOCK))
    return _combined(np.array(sums.to_host()), reduction)


def _combined(parts: np.ndarray[Any, Any], reduction: str) -> Any:
    """Combine chunks pairwise, in the order of the native core."""
    while parts.size > 1:
        half = (parts.size + 1) // 2
        rest = parts.size - half
        joined = parts[:half].copy()
        joined[:rest] = _JOINS[reduction](parts[:rest], parts[half:])
        parts = joined
    return parts[0]


def _largest(a: Any, b: Any) -> Any:
    return np.where(np.not_equal(b, b) | (b > a), b, a)


def _smallest(a: Any, b: Any) -> Any:
    return np.where(np.not_equal(b, b) | (b < a), b, a)


_JOINS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "sum": np.add,
    "squares": np.add,
    "max": _largest,
    "min": _smallest,
}


@functools.lru_cache(maxsize=256)
def _kernels(device: gpu.Device, dtype: str, wide: str, reduction: str) -> tuple[Any, Any]:
    """Compile the kernels of one reduction for a device, once in a process."""
    kind = np.dtype(wide)
    text = _KERNELS
    for name, value in (
        ("VALUE", C_TYPES[wide]),
        ("TYPE", C_TYPES[dtype]),
        ("JOIN", _JOIN[reduction]),
        ("FIRST", _first(kind, reduction)),
        ("TAKEN", "x * x" if reduction == "squares" else "x"),
    ):
        text = text.replace(name, value)
    flags = ["--fmad=false"] if device.platform == "cuda" else ["-ffp-contract=off"]
    image = gpu.compile_kernels(text, arch=device.arch, options=flags)
    module = gpu.Module.load(image, device=device)
    return (
        module.kernel("lanes").prepare("RPqqqqqqqqqq", block=BLOCK),
        module.kernel("chunks").prepare("RPqqq", block=BLOCK),
    )


def _first(kind: np.dtype[Any], reduction: str) -> str:
    """Return the value that changes no other, as C++."""
    if reduction in ("sum", "squares"):
        return "0"
    if kind.kind == "f":
        return "(-1.0 / 0.0)" if reduction == "max" else "(1.0 / 0.0)"
    if kind.kind == "b":
        return "0" if reduction == "max" else "1"
    ends = np.iinfo(kind)
    value = int(ends.min if reduction == "max" else ends.max)
    if value == -(2**63):
        return "(-9223372036854775807LL - 1)"
    return f"({value}{'ULL' if kind.kind == 'u' else 'LL'})"
