"""Cut an unstructured mesh into the parts of ranks, each with levels of halo.

One dimension is cut, such as the cells; the others are *attached* to it by tables, such as the
edges by `E2C`. An attached point belongs to the rank of its first neighbour in that table. Halo
level 1 of the cells shares an attached point with an owned cell, level 2 with level 1, and so on.
All edges and vertices of local cells are local: a point that is not owned has the level after the
lowest level among its cells. Ranks need no messages to agree: `part_of` finds the part of one rank
and the points of those near it, `decompose` all parts.

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

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..language import Dimension
from ..language.table_order import width_back
from ..process import ArgumentError, classes
from .pattern import Indices, Kind, LocalMesh, Pattern, Points, Table, Tables

FAR: Final = 1 << 30


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
    cut = _Cut.of(tables, along, owners, attached, halo, ranks)
    points = {rank: cut.points(rank) for rank in range(cut.ranks)}
    return tuple(cut.part(rank, points) for rank in points)


def part_of(
    rank: int,
    tables: Tables,
    along: Dimension,
    owners: NDArray[Any],
    *,
    attached: Sequence[str],
    halo: int,
    ranks: int | None = None,
) -> LocalMesh:
    """Return the part of one rank, as `decompose` does, without making those of all others.

    It finds the points of this rank and of those near it. The arguments are those of `decompose`,
    the rank before them.

    Raises:
        ArgumentError: as for `decompose`.

    """
    cut = _Cut.of(tables, along, owners, attached, halo, ranks)
    return cut.part(rank, {each: cut.points(each) for each in (rank, *cut.near(rank))})


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
    """Return 0 at the start, then how many steps over attached points away; FAR beyond `count`.

    The rows of `ways` may be those only from which a step can lead to a new point.
    """
    level = np.where(start, 0, FAR)
    for ring in range(1, count + 1):
        reached = np.append(level < ring, False)  # the last entry is that of a missing neighbour
        for way in ways:
            columns = [reached[column] for column in way.T]  # reducing a short axis is slow
            near = way[functools.reduce(np.logical_or, columns)]
            ids = near[near >= 0]
            level[ids] = np.minimum(level[ids], ring)
    return level


def _after(level: Indices, way: Table, rows: Indices) -> Indices:
    """Return the lowest level of the neighbours plus 1 in some rows of a table, FAR elsewhere."""
    padded, found = np.append(level, FAR), np.full(len(way), FAR)
    lowest = functools.reduce(np.minimum, [padded[column] for column in way[rows].T])
    found[rows] = np.minimum(lowest + 1, FAR)
    return found


def _by_the_border(owners: Indices, ways: Sequence[Table], count: int) -> list[Indices]:
    """Return, for each table, the rows that name a point up to `count` steps from other ranks.

    Only these lead from the points of a rank to those of others, and back.
    """
    padded, next_to = np.append(owners, -1), np.zeros(len(owners), bool)
    for way in ways:
        first, mixed = padded[way[:, 0]], np.zeros(len(way), bool)
        for column in way.T[1:]:
            mixed |= (padded[column] != first) & (column >= 0)
        ids = way[mixed]
        next_to[ids[ids >= 0]] = True
    near = np.append(_rings(next_to, ways, count) < FAR, False)
    return [
        np.flatnonzero(functools.reduce(np.logical_or, [near[column] for column in way.T]))
        for way in ways
    ]


PointsOf: TypeAlias = Mapping[Dimension, Points]


@classes.frozen(eq=False)
class _Cut:
    """A checked mesh with the owners of the points of all dimensions."""

    tables: Tables
    along: Dimension
    owners: Mapping[Dimension, Indices]
    ways: Mapping[Dimension, Table]
    halo: int
    ranks: int
    border: Mapping[Dimension, Indices]

    @classmethod
    def of(
        cls,
        tables: Tables,
        along: Dimension,
        owners: NDArray[Any],
        attached: Sequence[str],
        halo: int,
        ranks: int | None,
    ) -> _Cut:
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
        border = dict(zip(ways, _by_the_border(owners, list(ways.values()), halo + 2), strict=True))
        return cls(tables, along, everywhere, ways, halo, count, border)

    def points(self, rank: int) -> PointsOf:
        """Return the local points of a rank."""
        own, ways = self.owners[self.along] == rank, self._ways_by_the_border()
        level = _rings(own, ways, self.halo)
        distance = _rings(~own, ways, self.halo + 2)
        points = {self.along: _sorted(level, distance, self.halo)}
        for dim, way in self.ways.items():
            rows = self.border[dim]
            outward = np.where(self.owners[dim] == rank, 0, _after(level, way, rows))
            points[dim] = _sorted(outward, _after(distance, way, rows), self.halo)
        return points

    def _ways_by_the_border(self) -> list[Table]:
        return [way[self.border[dim]] for dim, way in self.ways.items()]

    def near(self, rank: int) -> list[int]:
        """Return all ranks whose local points may be owned by this one, or the other way round."""
        owners = self.owners[self.along]
        level = _rings(owners == rank, self._ways_by_the_border(), self.halo + 1)
        return [each for each in np.unique(owners[level < FAR]).tolist() if each != rank]

    def part(self, rank: int, known: Mapping[int, PointsOf]) -> LocalMesh:
        """Return the part of a rank, given the points of all ranks near it."""
        points = known[rank]
        local, elsewhere, complete = {}, {}, {}
        for name, table in self.tables.items():
            of = points[table.domain.dims[0]]
            rows = table.asnumpy()[of.global_ids]
            place = np.full(len(self.owners[table.codomain]) + 1, -1)
            place[points[table.codomain].global_ids] = np.arange(len(points[table.codomain].levels))
            local[name] = place[rows].astype(np.int32)
            elsewhere[name] = (rows >= 0) & (local[name] < 0)
            lost = of.levels[elsewhere[name].any(axis=1)]
            complete[name] = int(lost.min(initial=self.halo + 2)) - 1
        return LocalMesh(
            rank=rank, ranks=self.ranks, points=points, tables=local, elsewhere=elsewhere,
            complete=complete,
            patterns=tuple(self._pattern(rank, dim, known) for dim in points),
            kinds={
                name: Kind(
                    table.domain.dims,
                    table.codomain,
                    table.skip_value,
                    width_back(table.asnumpy()),
                )
                for name, table in self.tables.items()
            },
        )  # fmt: skip

    def _pattern(self, rank: int, dim: Dimension, known: Mapping[int, PointsOf]) -> Pattern:
        mine, owners = known[rank][dim], self.owners[dim]
        send, receive = {}, {}
        for other, points in known.items():
            if len(ids := _halo_of(mine, owners, other)):
                receive[other] = (ids,)
            if len(ids := _halo_of(points[dim], owners, rank)):
                send[other] = (_places(mine, points[dim].global_ids[ids]),)
        return Pattern((dim,), send, receive)


def _sorted(level: Indices, distance: Indices, halo: int) -> Points:
    ids = np.flatnonzero(level < FAR)
    inside = np.where(level[ids] == 0, np.minimum(distance[ids], halo + 2), 0)
    order = np.lexsort((ids, -inside, level[ids]))
    return Points(ids[order], level[ids][order], inside[order])


def _halo_of(points: Points, owners: Indices, owner: int) -> Indices:
    """Return the local ids of the halo points that a rank owns."""
    return np.flatnonzero((points.levels > 0) & (owners[points.global_ids] == owner))


def _places(points: Points, ids: Indices) -> Indices:
    order = np.argsort(points.global_ids)
    return np.asarray(order[np.searchsorted(points.global_ids, ids, sorter=order)])
