"""Bring arrays on different domains to one common domain, ready to be combined point by point.

An axis with an infinite range has extent 1 in the array, because the values are constant along
it; NumPy broadcasts them.
"""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from ..language import Dimension, Domain, UnitRange

Part: TypeAlias = tuple[Any, Domain]  # an array and the domain on which it stands


def align(parts: list[Part]) -> tuple[list[Any], Domain]:
    """Return views of the arrays on the intersection of all domains, axes in its order."""
    common = parts[0][1]
    for _, own in parts[1:]:
        if own != common:
            common = common & own
    return [view_on(array, own, common) for array, own in parts], common


def view_on(array: Any, own: Domain, common: Domain) -> Any:
    """Return the part of `array` on `common`, whose dimensions include all of `own`."""
    if own == common:
        return array
    cut = tuple(_cut(mine, common[dim].unit_range) for dim, mine in own)
    return reordered(array[(*cut, ...)], own.dims, common.dims)


def reordered(array: Any, dims: tuple[Dimension, ...], wanted: tuple[Dimension, ...]) -> Any:
    """Return a view with one axis for each wanted dimension, of extent 1 where `dims` lacks it."""
    order = [dims.index(dim) for dim in wanted if dim in dims]
    if order != list(range(len(order))):
        array = array.transpose(order)
    return array[(*(slice(None) if dim in dims else None for dim in wanted), ...)]


def first(indices: UnitRange) -> int:
    """Return the first index of a finite range."""
    return operator.index(indices.start)  # type: ignore[arg-type]  # 'Infinity' is no index


def extents(domain: Domain) -> tuple[int, ...]:
    """Return the shape of an array on `domain`: 1 where the range is infinite."""
    return tuple(len(r) if r.is_finite() else 1 for r in domain.ranges)


def fitted(array: Any, domain: Domain) -> Any:
    """Return the array with the extents of `domain`; repeat it along axes of extent 1."""
    array = np.asarray(array) if isinstance(array, np.generic) else array
    shape = extents(domain)
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _cut(own: UnitRange, wanted: UnitRange) -> slice:
    if not own.is_finite():
        return slice(None)
    if wanted.is_empty():
        return slice(0, 0)
    ahead = first(wanted) - first(own)
    return slice(ahead, ahead + len(wanted))


def is_same_array(one: Any, other: Any) -> bool:
    """Tell whether two arrays have the same elements at the same addresses."""
    mine, theirs = (array.__array_interface__ for array in (one, other))
    return mine["data"] == theirs["data"] and all(
        getattr(one, name) == getattr(other, name) for name in ("shape", "strides", "dtype")
    )


def overlaps_itself(array: Any) -> bool:
    """Tell whether two elements of one array share memory, as views made by `as_strided` do.

    >>> from numpy.lib.stride_tricks import as_strided
    >>> a = np.zeros(4)
    >>> overlaps_itself(a[::-2]), overlaps_itself(as_strided(a, (2, 3), (8, 8)))
    (False, True)
    """
    axes = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1]
    reach, apart = array.itemsize, True
    for stride, extent in sorted(axes):
        apart &= stride >= reach
        reach += stride * (extent - 1)
    if apart or not array.size:
        return False
    places = np.zeros((1,), np.int64)
    for stride, extent in axes:
        places = np.add.outer(places, np.arange(extent) * stride).ravel()
    return bool((np.diff(np.sort(places)) < array.itemsize).any())
