"""The shape, element type and axes that a storage is asked for, checked and completed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..process import classes
from .layout import AXES


@classes.frozen(eq=False)
class Request:
    """A storage to allocate; data axes of the element type are axes like the others."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    aligned_index: tuple[int, ...]
    dimensions: tuple[str, ...]


def request(shape: Any, dtype: Any, aligned_index: Any, dimensions: Any) -> Request:
    """Check what a storage is asked for.

    Raises:
        TypeError: `shape` or `aligned_index` is no sequence of integers.
        ValueError: sizes that are not positive, negative indices, or numbers of axes that differ.

    >>> found = request((3, 4), (np.float64, (2,)), None, None)
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
    return Request(
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
