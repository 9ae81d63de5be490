"""Arrays that know their dimensions and where they stand: what the interpreter computes with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import attrs
import numpy as np

from ...runtime.language.dimension import Dimension

Array: TypeAlias = Any  # a NumPy array, or a NumPy scalar where there are no dimensions
Spans: TypeAlias = tuple[tuple[int, int], ...]  # start and stop along each dimension
Dims: TypeAlias = tuple[Dimension, ...]


class Memory(Protocol):
    """What the interpreter asks of a field."""

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


@attrs.frozen(eq=False)
class Boxed:
    """An array over dimensions, on a box; a scalar has none."""

    array: Array
    dims: Dims
    spans: Spans

    def on(self, dims: Dims, spans: Spans) -> Array:
        """Return the part on `spans`, with an axis of extent 1 where it has no dimension."""
        if not self.dims:
            return self.array
        starts = {dim: start for dim, (start, _) in zip(self.dims, self.spans, strict=True)}
        index = tuple(
            slice(start - starts[dim], stop - starts[dim]) if dim in starts else np.newaxis
            for dim, (start, stop) in zip(dims, spans, strict=True)
        )
        return self.array[index]

    def along(self, dim: Dimension) -> tuple[int, int]:
        """Return where it begins and ends along one of its dimensions."""
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
    """Return an array whose axes stand in another order."""
    return np.transpose(array, [dims.index(dim) for dim in order])
