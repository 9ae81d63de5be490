"""Cut an unstructured mesh into the parts of ranks, each with levels of halo.

One dimension is cut, such as the cells; the others are *attached* to it by tables, such as the
edges by `E2C`. An attached point belongs to the rank of its first neighbour in that table. Halo
level 1 of the cells shares an attached point with an owned cell, level 2 with level 1, and so on.
All edges and vertices of local cells are local: a point that is not owned has the level after the
lowest level among its cells. Every rank computes all parts, so that they agree without messages.

>>> import numpy as np
>>> import fieldforge as ff
>>> Cell, Edge = ff.Dimension("Cell"), ff.Dimension("Edge")
>>> E2CDim = ff.Dimension("E2C", ff.DimensionKind.LOCAL)
>>> ring = ff.as_connectivity([Edge, E2CDim], Cell, [[i, (i + 1) % 6] for i in range(6)])
>>> parts = decompose({"E2C": ring}, Cell, np.array([0, 0, 0, 1, 1, 1]), attached=["E2C"], halo=1)
>>> parts[0].points[Cell].global_ids, parts[0].points[Cell].owned
(array([1, 0, 2, 3, 5]), 3)
>>> parts[0].points[Edge].global_ids, parts[0].tables["E2C"].tolist()
(array([0, 1, 2, 5, 3, 4]), [[1, 0], [0, 2], [2, 3], [4, 1], [3, -1], [-1, 4]])
>>> check(parts)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from ..fields.constructors import as_connectivity
from ..fields.neighbour_table import Connectivity
from ..language.dimension import Dimension
from ..process.errors import ArgumentError
from .pattern import Indices, Pattern

Table: TypeAlias = NDArray[np.int32]
Tables: TypeAlias = Mapping[str, Connectivity]
FAR: Final = 1 << 30


@attrs.frozen(eq=False)
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


@attrs.frozen(eq=False, kw_only=True)
class LocalMesh:
    """The part of a mesh that one rank has.

    Attributes:
        rank: of this part.
        ranks: how many parts there are.
        points: the local points of each dimension.
        tables: local ids of neighbours, (points, neighbours); -1 where there is none on this rank.
        complete: for each table, the level up to which no neighbour is missing on this rank.
        patterns: what is exchanged, one for each dimension.

    """

    rank: int
    ranks: int
    points: Mapping[Dimension, Points]
    tables: Mapping[str, Table]
    complete: Mapping[str, int]
    patterns: Sequence[Pattern]
    original: Tables = attrs.field(repr=False)

    @property
    def owned(self) -> dict[Dimension, tuple[int, int]]:
        """The ranges of local ids that this rank owns, by dimension."""
        return {dim: (0, each.owned) for dim, each in self.points.items()}

    def connectivities(self) -> dict[str, Connectivity]:
        """Return the local tables as an offset provider; the same variant on every rank."""
        return {
            name: as_connectivity(
                whole.domain.dims,
                whole.codomain,
                self.tables[name],
                skip_value=-1 if self.ranks > 1 else whole.skip_value,
            )
            for name, whole in self.original.items()
        }

    def leading(self, name: str, count: int) -> int:
        """Return how many points, from the first on, find all neighbours among the first `count`.

        Neighbours that are missing in the whole mesh are not needed. A program that reads through
        several tables chains the calls: what it may compute before the halo has arrived follows
        from the owned points, and what it can compute at all from all local points.

        Args:
            name: of a table.
            count: of local points that neighbours are looked for.
        """
        whole, local = self.original[name], self.tables[name]
        ids = self.points[whole.domain.dims[0]].global_ids
        lost = (whole.asnumpy()[ids] >= 0) & ((local < 0) | (local >= count))
        rows: NDArray[np.bool_] = np.any(lost, axis=1)
        return int(np.argmax(rows)) if rows.any() else len(rows)

    def localised(self, array: NDArray[Any], dim: Dimension) -> NDArray[Any]:
        """Return the local rows of an array over all points of a dimension."""
        return np.ascontiguousarray(array[self.points[dim].global_ids])


def decompose(
    tables: Tables,
    along: Dimension,
    owners: NDArray[Any],
    *,
    attached: Sequence[str],
    halo: int,
    ranks: int | None = None,
) -> tuple[LocalMesh, ...]:
    """Return the parts of all ranks.

    Args:
        tables: the offset provider of the whole mesh; all of its tables become local.
        along: the dimension that is cut.
        owners: the rank of each of its points, (points,); a rank may own none.
        attached: names of tables that lead from other dimensions to `along`.
        halo: how many levels of halo the points of `along` have.
        ranks: how many there are, by default as many as own points.

    Raises:
        ArgumentError: a table does not lead to `along`, a dimension is not attached, or a rank
            is negative or beyond `ranks`.
    """
    owners = np.asarray(owners, np.int64)
    count = int(owners.max(initial=-1)) + 1 if ranks is None else ranks
    if len(owners) and not (owners.min() >= 0 and owners.max() < count):
        raise ArgumentError(f"Expected owners from 0 to {count - 1}, got {owners.max()}.")
    ways = {_start(tables, name, along): tables[name].asnumpy() for name in attached}
    missing = {
        dim
        for table in tables.values()
        for dim in (table.domain.dims[0], table.codomain)
        if dim not in ways and dim != along
    }
    if missing:
        names = ", ".join(sorted(f"'{dim.value}'" for dim in missing))
        raise ArgumentError(f"No table of 'attached' leads from {names} to '{along.value}'.")
    everywhere = {along: owners} | {dim: owners[way[:, 0]] for dim, way in ways.items()}
    parts = [_part(rank, count, tables, along, everywhere, ways, halo) for rank in range(count)]
    return tuple(_with_patterns(part, parts, everywhere) for part in parts)


def check(parts: Sequence[LocalMesh]) -> None:
    """Raise ArgumentError unless each point has one owner and what is sent is what is received."""
    for dim in parts[0].points:
        ids = np.concatenate([p.points[dim].global_ids[: p.points[dim].owned] for p in parts])
        if not np.array_equal(np.sort(ids), np.arange(len(ids))):
            raise ArgumentError(f"A point of '{dim.value}' has no owner, or more than one.")
        pairs = {part.rank: part.points[dim].global_ids for part in parts}
        by_dim = {p.rank: next(e for e in p.patterns if e.dims == (dim,)) for p in parts}
        for rank, pattern in by_dim.items():
            received = [pairs[rank][ids] for (ids,) in pattern.receive.values()]
            halo = pairs[rank][parts[rank].points[dim].owned :]
            if not np.array_equal(np.sort(halo), np.sort(np.concatenate([halo[:0], *received]))):
                raise ArgumentError(f"Rank {rank} does not receive all of its halo on '{dim}'.")
            for other, (ids,) in pattern.receive.items():
                if not np.array_equal(pairs[rank][ids], pairs[other][by_dim[other].send[rank][0]]):
                    raise ArgumentError(f"Ranks {other} and {rank} disagree on '{dim.value}'.")


def _start(tables: Tables, name: str, along: Dimension) -> Dimension:
    if name not in tables or tables[name].codomain != along:
        raise ArgumentError(f"Expected a table that leads to '{along.value}', got '{name}'.")
    if len(table := tables[name].asnumpy()) and table[:, 0].min() < 0:
        raise ArgumentError(f"The first column of '{name}' must not have missing neighbours.")
    return tables[name].domain.dims[0]


def _rings(start: NDArray[np.bool_], ways: Sequence[Table], count: int) -> Indices:
    """Return 0 at the start, then how many steps over attached points away; FAR beyond `count`."""
    level = np.where(start, 0, FAR)
    for ring in range(1, count + 1):
        reached = np.append(level < ring, False)  # the last entry is that of a missing neighbour
        for way in ways:
            near = way[reached[way].any(axis=1)]
            ids = near[near >= 0]
            level[ids] = np.minimum(level[ids], ring)
    return level


def _after(level: Indices, way: Table) -> Indices:
    """Return the lowest level of the neighbours plus 1."""
    lowest = np.append(level, FAR)[way].min(axis=1, initial=FAR)
    return np.asarray(np.minimum(lowest + 1, FAR))


def _part(
    rank: int,
    ranks: int,
    tables: Tables,
    along: Dimension,
    owners: Mapping[Dimension, Indices],
    ways: Mapping[Dimension, Table],
    halo: int,
) -> LocalMesh:
    own = owners[along] == rank
    level = _rings(own, list(ways.values()), halo)
    distance = _rings(~own, list(ways.values()), halo + 2)
    points = {along: _sorted(level, distance, halo)}
    for dim, way in ways.items():
        outward = np.where(owners[dim] == rank, 0, _after(level, way))
        points[dim] = _sorted(outward, _after(distance, way), halo)
    local, complete = {}, {}
    for name, table in tables.items():
        of = points[table.domain.dims[0]]
        rows = table.asnumpy()[of.global_ids]
        place = np.full(len(owners[table.codomain]) + 1, -1)
        place[points[table.codomain].global_ids] = np.arange(len(points[table.codomain].levels))
        local[name] = place[rows].astype(np.int32)
        lost = of.levels[((rows >= 0) & (local[name] < 0)).any(axis=1)]
        complete[name] = int(lost.min(initial=halo + 2)) - 1
    return LocalMesh(
        rank=rank, ranks=ranks, points=points, tables=local, complete=complete, patterns=(),
        original=tables,
    )  # fmt: skip


def _sorted(level: Indices, distance: Indices, halo: int) -> Points:
    ids = np.flatnonzero(level < FAR)
    inside = np.where(level[ids] == 0, np.minimum(distance[ids], halo + 2), 0)
    order = np.lexsort((ids, -inside, level[ids]))
    return Points(ids[order], level[ids][order], inside[order])


def _with_patterns(
    part: LocalMesh, parts: Sequence[LocalMesh], owners: Mapping[Dimension, Indices]
) -> LocalMesh:
    patterns = []
    for dim, mine in part.points.items():
        send, receive = {}, {}
        for other in parts:
            theirs = other.points[dim]
            if len(ids := _halo_of(mine, owners[dim], other.rank)):
                receive[other.rank] = (ids,)
            if len(ids := _halo_of(theirs, owners[dim], part.rank)):
                send[other.rank] = (_places(mine, theirs.global_ids[ids]),)
        patterns.append(Pattern((dim,), send, receive))
    return attrs.evolve(part, patterns=tuple(patterns))


def _halo_of(points: Points, owners: Indices, owner: int) -> Indices:
    """Return the local ids of the halo points that a rank owns."""
    return np.flatnonzero((points.levels > 0) & (owners[points.global_ids] == owner))


def _places(points: Points, ids: Indices) -> Indices:
    order = np.argsort(points.global_ids)
    return np.asarray(order[np.searchsorted(points.global_ids, ids, sorter=order)])
