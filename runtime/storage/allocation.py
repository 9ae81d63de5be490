"""Allocate storages: `empty`, `zeros`, `ones`, `full`, `from_array`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..fields import ALIGNMENT, aligned_memory, padded_strides
from ..process import classes
from .arrays import asarray, cupy
from .layout import AXES, LayoutInfo, inwards_to_outwards
from .presets import REGISTRY


def empty(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[Any] | None = None,
) -> Any:
    """Allocate an array with any values, in the layout of a backend.

    Args:
        shape: the size of each axis.
        dtype: the type of the elements; with a shape, as in `(float, (2,))`, it appends data axes.
        backend: the name of a storage preset.
        aligned_index: the element whose address is aligned, the origin of most calls.
        dimensions: the axes, as 'IJ', ('I', 'K') or axes of GTScript; digits are data axes. By
            default the first of I, J, K, then data axes.

    Raises:
        RuntimeError: there is no such preset.
        TypeError: `shape` or `aligned_index` is no sequence of integers.
        ValueError: sizes, indices or dimensions that fit no array.

    >>> array = empty((3, 4, 5), backend="gt:cpu_ifirst")
    >>> tuple(stride // array.itemsize for stride in array.strides)
    (1, 3, 12)
    """
    return _allocated(backend, _request(shape, dtype, aligned_index, dimensions), zeroed=False)


def zeros(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[Any] | None = None,
) -> Any:
    """Allocate an array of zeros; the arguments are those of `empty`.

    >>> zeros((2, 2), backend="numpy").sum()
    np.float64(0.0)
    """
    return _allocated(backend, _request(shape, dtype, aligned_index, dimensions), zeroed=True)


def ones(
    shape: Sequence[int],
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[Any] | None = None,
) -> Any:
    """Allocate an array of ones; the arguments are those of `empty`.

    >>> ones((2, 2), int, backend="numpy").sum()
    np.int64(4)
    """
    return full(
        shape, 1, dtype, backend=backend, aligned_index=aligned_index, dimensions=dimensions
    )


def full(
    shape: Sequence[int],
    fill_value: Any,
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[Any] | None = None,
) -> Any:
    """Allocate an array with one value everywhere; the other arguments are those of `empty`.

    >>> full((2, 2), 2.5, backend="numpy").sum()
    np.float64(10.0)
    """
    made = empty(shape, dtype, backend=backend, aligned_index=aligned_index, dimensions=dimensions)
    made[...] = made.dtype.type(fill_value)
    return made


def from_array(
    data: Any,
    dtype: Any = np.float64,
    *,
    backend: str,
    aligned_index: Sequence[int] | None = None,
    dimensions: Sequence[Any] | None = None,
) -> Any:
    """Copy data into a new array in the layout of a backend.

    The elements are converted to `dtype`, which is float64 unless it is given; None keeps that of
    the data. The other arguments are those of `empty`.

    >>> from_array([[1, 2], [3, 4]], backend="dace:cpu")
    array([[1., 2.],
           [3., 4.]])
    """
    device = _preset(backend)["device"]
    array = (
        asarray(data)
        if hasattr(data, "__array__") or hasattr(data, "ndarray")
        else np.asarray(data)
    )
    kind = np.dtype(array.dtype if dtype is None else dtype)
    shape = tuple(array.shape)
    if kind.shape:
        if shape[-len(kind.shape) :] != kind.shape:
            raise ValueError(
                f"Data of shape {shape} do not end in the axes {kind.shape} of the dtype."
            )
        shape = shape[: -len(kind.shape)]
    made = empty(shape, kind, backend=backend, aligned_index=aligned_index, dimensions=dimensions)
    made[...] = asarray(array, device=device)
    return made


def _allocated(backend: str, wanted: _Request, *, zeroed: bool) -> Any:
    """Allocate with the element at the aligned index on a cache line, or on the preset's alignment.

    Rows are padded only where the preset aligns more than one element.
    """
    preset = _preset(backend)
    item, shape = wanted.dtype.itemsize, wanted.shape
    order = inwards_to_outwards(preset["layout_map"](wanted.dimensions))
    row = preset["alignment"] * item
    strides = padded_strides(shape, order, item, row)
    alignment = max(row, ALIGNMENT)
    size = item + sum((extent - 1) * step for extent, step in zip(shape, strides, strict=True))
    ahead = sum(place * step for place, step in zip(wanted.aligned_index, strides, strict=True))
    if preset["device"] == "gpu":
        return _on_gpu(wanted, strides, size, ahead, alignment, zeroed)
    memory, offset = aligned_memory(size, ahead, alignment, zeroed=zeroed)
    return np.ndarray(shape, wanted.dtype, buffer=memory, offset=offset, strides=strides)


def _on_gpu(
    wanted: _Request, strides: tuple[int, ...], size: int, ahead: int, alignment: int, zeroed: bool
) -> Any:
    library = cupy()
    memory = library.cuda.alloc(size + alignment)
    offset = -(memory.ptr + ahead) % alignment
    made = library.ndarray(wanted.shape, wanted.dtype, memptr=memory + offset, strides=strides)
    if zeroed:
        made[...] = 0
    return made


def _preset(backend: str) -> LayoutInfo:
    if backend not in REGISTRY:
        raise RuntimeError(f"Storage preset '{backend}' is not registered.")
    return REGISTRY[backend]


@classes.frozen(eq=False)
class _Request:
    """A storage to allocate; data axes of the element type are axes like the others."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    aligned_index: tuple[int, ...]
    dimensions: tuple[str, ...]


def _request(shape: Any, dtype: Any, aligned_index: Any, dimensions: Any) -> _Request:
    """Check what a storage is asked for.

    Raises:
        TypeError: `shape` or `aligned_index` is no sequence of integers.
        ValueError: sizes that are not positive, negative indices, or numbers of axes that differ.

    >>> found = _request((3, 4), (np.float64, (2,)), None, None)
    >>> found.shape, found.dimensions
    ((3, 4, 2), ('I', 'J', '0'))
    """
    sizes = _integers("shape", shape)
    names = _usual(len(sizes)) if dimensions is None else _names(dimensions)
    if len(names) != len(sizes):
        raise ValueError(
            f"Dimensions {names} and shape {sizes} have non-matching sizes: expected one size for "
            f"each of {len(names)} dimensions, got {len(sizes)}."
        )
    if any(size <= 0 for size in sizes):
        raise ValueError(f"shape {sizes} contains non-positive values.")
    index = (
        (0,) * len(sizes) if aligned_index is None else _integers("aligned_index", aligned_index)
    )
    if len(index) != len(sizes):
        raise ValueError(
            f"shape {sizes} and aligned_index {index} have non-matching sizes: expected "
            f"{len(sizes)} indices, got {len(index)}."
        )
    if any(each < 0 for each in index):
        raise ValueError(f"aligned_index {index} contains negative values.")
    kind = np.dtype(dtype)
    data = kind.shape
    return _Request(
        (*sizes, *data),
        kind.base,
        (*index, *(0 for _ in data)),
        (*names, *map(str, range(len(data)))),
    )


def _usual(count: int) -> tuple[str, ...]:
    return (*AXES[:count], *(str(number) for number in range(count - len(AXES))))


def _names(dimensions: Iterable[Any]) -> tuple[str, ...]:
    names = tuple(getattr(each, "__gt_axis_name__", each) for each in dimensions)
    for name in names:
        if not (isinstance(name, str) and (name.isdigit() or (len(name) == 1 and name in AXES))):
            raise ValueError(
                f"Invalid dimensions definition: expected axes such as 'IJ' or ('I', 'J', '0'), "
                f"got '{names}'."
            )
    return names


def _integers(name: str, given: Any) -> tuple[int, ...]:
    if not (isinstance(given, Sequence) and all(isinstance(each, Integral) for each in given)):
        raise TypeError(f"{name} must be a sequence of integers, got '{given}'.")
    return tuple(map(int, given))
