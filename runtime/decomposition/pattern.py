"""The part of a mesh that a rank has, and which points it sends to and receives from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..fields import Connectivity, as_connectivity, first
from ..language import Dimension
from ..language.table_order import ordered
from ..process import ArgumentError, classes

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


Table: TypeAlias = NDArray[np.int32]
Tables: TypeAlias = Mapping[str, Connectivity]


@classes.frozen
class Kind:
    """What the tables of all ranks have in common with that of the whole mesh."""

    dims: tuple[Dimension, ...]
    codomain: Dimension
    skip_value: int | None
    width_back: int  # of the transpose


@classes.frozen(eq=False)
class Points:
    """The points of one dimension on one rank, in their local order.

    First come owned points, those far from other ranks first; then the halo, level by level.
    Within each range the order is that of the global ids.

    Attributes:
        global_ids: of each local point, (points,).
        levels: of each local point, (points,): 0 for owned points, else the level of the halo.
        distances: of each local point, (points,): 1 for owned points next to other ranks, then 2,
            and so on up to the halo levels plus 2; 0 in the halo.

    """

    global_ids: Indices
    levels: Indices
    distances: Indices

    @property
    def owned(self) -> int:
        """How many points this rank owns; their local ids are 0 to this."""
        return self.up_to(0)

    def up_to(self, level: int) -> int:
        """Return how many points are owned or lie in the first `level` levels of the halo."""
        return int(np.searchsorted(self.levels, level, side="right"))

    def farther_than(self, distance: int) -> int:
        """Return how many owned points are farther from other ranks; they are the first ones."""
        return int((self.distances > distance).sum())


@classes.frozen(eq=False, kw_only=True)
class LocalMesh:
    """The part of a mesh that one rank has; it holds nothing of the whole mesh and can be pickled.

    Attributes:
        rank: of this part.
        ranks: how many parts there are.
        points: the local points of each dimension.
        tables: local ids of neighbours, (points, neighbours); -1 where there is none on this rank.
        elsewhere: which of these -1 have a neighbour on another rank, of the same shape.
        complete: for each table, the level up to which no neighbour is missing on this rank.
        patterns: what is exchanged, one for each dimension.
        kinds: the dimensions of each table.

    """

    rank: int
    ranks: int
    points: Mapping[Dimension, Points]
    tables: Mapping[str, Table]
    elsewhere: Mapping[str, NDArray[np.bool_]] = classes.field(repr=False)
    complete: Mapping[str, int]
    patterns: Sequence[Pattern]
    kinds: Mapping[str, Kind] = classes.field(repr=False)

    @property
    def owned(self) -> dict[Dimension, tuple[int, int]]:
        """The ranges of local ids that this rank owns, by dimension."""
        return {dim: (0, each.owned) for dim, each in self.points.items()}

    def connectivities(self, allocator: Any = None) -> dict[str, Connectivity]:
        """Return the local tables as an offset provider; the same variant on every rank.

        Args:
            allocator: what allocates their memory, a backend for instance.
        """
        return {
            name: self._connectivity(name, kind, allocator) for name, kind in self.kinds.items()
        }

    def _connectivity(self, name: str, kind: Kind, allocator: Any) -> Connectivity:
        made = as_connectivity(
            kind.dims,
            kind.codomain,
            self.tables[name],
            skip_value=-1 if self.ranks > 1 else kind.skip_value,
            allocator=allocator,
        )
        if self.ranks == 1:
            return made
        return ordered(made, self.points[kind.dims[0]].global_ids, kind.width_back)

    def leading(self, name: str, count: int) -> int:
        """Return how many points, from the first on, find all neighbours among the first `count`.

        Neighbours that are missing in the whole mesh are not needed. A program that reads through
        several tables chains the calls: what it may compute before the halo has arrived follows
        from the owned points, and what it can compute at all from all local points.

        Args:
            name: of a table.
            count: of local points that neighbours are looked for.
        """
        first = len(table := self.tables[name])
        for column, elsewhere in zip(table.T, self.elsewhere[name].T, strict=True):
            lost = elsewhere[:first] | (column[:first] >= count)
            first = int(np.argmax(lost)) if lost.any() else first
        return first

    def localised(self, array: NDArray[Any], dim: Dimension) -> NDArray[Any]:
        """Return the local rows of an array over all points of a dimension."""
        return np.ascontiguousarray(array[self.points[dim].global_ids])
