"""Boxed arrays: the interpreter's arrays with their dimensions and ranges of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...runtime.language import Dimension
from ...runtime.process import classes

Array: TypeAlias = Any  # a NumPy array, or a NumPy scalar without dimensions
Spans: TypeAlias = tuple[tuple[int, int], ...]  # start and stop along each dimension
Dims: TypeAlias = tuple[Dimension, ...]


class Memory(Protocol):
    """The protocol of a field for the interpreter."""

    @property
    def ndarray(self) -> Any:
        """The live array."""

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions of its axes."""

    @property
    def starts(self) -> tuple[int, ...]:
        """The first index along each axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices along each axis."""


@classes.frozen(eq=False)
class Boxed:
    """An array over dimensions, on a box; a scalar has none."""

    array: Array
    dims: Dims
    spans: Spans

    def on(self, dims: Dims, spans: Spans) -> Array:
        """Return the part on `spans`, with an axis of extent 1 for each dimension that it lacks."""
        if not self.dims:
            return self.array
        starts = {dim: start for dim, (start, _) in zip(self.dims, self.spans, strict=True)}
        index = tuple(
            slice(start - starts[dim], stop - starts[dim]) if dim in starts else np.newaxis
            for dim, (start, stop) in zip(dims, spans, strict=True)
        )
        return self.array[index]

    def along(self, dim: Dimension) -> tuple[int, int]:
        """Return start and stop along one of its dimensions."""
        return self.spans[self.dims.index(dim)]


def view(field: Memory, spans: Spans) -> Array:
    """Return a view of a field on a box inside it."""
    index = tuple(
        slice(start - first, stop - first)
        for (start, stop), first in zip(spans, field.starts, strict=True)
    )
    return field.ndarray[(*index, ...)]


def shape_of(spans: Spans) -> tuple[int, ...]:
    """Return the shape of an array on a box."""
    return tuple(max(stop - start, 0) for start, stop in spans)


def replaced(dims: Dims, spans: Spans, new: dict[Dimension, tuple[int, int]]) -> Spans:
    """Return a box with other ranges along some of its dimensions."""
    return tuple(new.get(dim, span) for dim, span in zip(dims, spans, strict=True))


def transposed(array: Array, dims: Sequence[Dimension], order: Sequence[Dimension]) -> Array:
    """Return an array with its axes in another order."""
    return np.transpose(array, [dims.index(dim) for dim in order])
