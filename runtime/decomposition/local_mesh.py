"""The part of a mesh that one rank has: its points in local order, and tables of local ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..fields.constructors import as_connectivity
from ..fields.neighbour_table import Connectivity
from ..language import Dimension
from ..language.table_order import ordered
from ..process import classes
from .pattern import Indices, Pattern

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
