"""Which points of a field a rank sends to which other rank, and which it receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..fields.alignment import first
from ..language import Dimension
from ..process import classes
from ..process.errors import ArgumentError

Indices: TypeAlias = NDArray[np.int64]
Places: TypeAlias = tuple[Indices, ...]  # one array for each dimension of the pattern


@classes.frozen(eq=False)
class Pattern:
    """The halo of one rank along some dimensions.

    What rank a sends to b and what b receives from a are the same points in the same order.

    Attributes:
        dims: the dimensions that are cut; a field may have more.
        send: by rank, the indices of owned points that are in its halo.
        receive: by rank, the indices of halo points that it owns.

    """

    dims: tuple[Dimension, ...]
    send: Mapping[int, Places]
    receive: Mapping[int, Places]

    def fits(self, dims: tuple[Dimension, ...]) -> bool:
        """Tell whether a field on these dimensions has this halo."""
        return all(dim in dims for dim in self.dims)


def points_first(field: Any, pattern: Pattern) -> NDArray[Any]:
    """Return a view of a field's array with the axes of the pattern in front."""
    axes = [field.domain.dims.index(dim) for dim in pattern.dims]
    return np.moveaxis(field.ndarray, axes, range(len(axes)))


def shape_first(field: Any, pattern: Pattern) -> tuple[int, ...]:
    """Return the extents of a field's array with the axes of the pattern in front."""
    axes = [field.domain.dims.index(dim) for dim in pattern.dims]
    others = [axis for axis in range(len(field.domain.dims)) if axis not in axes]
    return tuple(int(field.ndarray.shape[axis]) for axis in (*axes, *others))


def positions(field: Any, pattern: Pattern, places: Places) -> Places:
    """Return the positions of indices in a field's array, which may begin at another index."""
    ranges = field.domain.ranges
    starts = (first(ranges[field.domain.dims.index(dim)]) for dim in pattern.dims)
    return tuple(along - start for along, start in zip(places, starts, strict=True))


def owned_box(field: Any, pattern: Pattern) -> dict[Dimension, tuple[int, int]]:
    """Return the smallest ranges that hold all points of a field that no other rank owns.

    >>> halo = np.array([0, 5])
    >>> I = Dimension("I")
    >>> pattern = Pattern((I,), {}, {1: (halo,)})
    >>> import fieldforge as ff
    >>> owned_box(ff.zeros({I: 6}), pattern) == {I: (1, 5)}
    True
    """
    shape = shape_first(field, pattern)[: len(pattern.dims)]
    is_owned = np.ones(shape, bool)
    for places in pattern.receive.values():
        is_owned[positions(field, pattern, places)] = False
    found = {}
    for axis, dim in enumerate(pattern.dims):
        others = tuple(other for other in range(len(shape)) if other != axis)
        along = np.flatnonzero(is_owned.any(axis=others))
        start = first(field.domain.ranges[field.domain.dims.index(dim)])
        ends = (int(along[0]), int(along[-1]) + 1) if len(along) else (0, 0)
        found[dim] = (start + ends[0], start + ends[1])
    return found


def check_size(field: Any, pattern: Pattern) -> None:
    """Raise ArgumentError if a field lacks points that are sent or received."""
    shape = shape_first(field, pattern)
    for places in (*pattern.send.values(), *pattern.receive.values()):
        for dim, along, size in zip(
            pattern.dims, positions(field, pattern, places), shape, strict=False
        ):
            if len(along) and not (along.min() >= 0 and along.max() < size):
                raise ArgumentError(
                    f"The field has {size} points along '{dim.value}', which is not all of the "
                    "owned points and their halo."
                )
