"""Partition the points of a mesh among ranks: by METIS, coordinates, or an order of neighbours.

>>> import fieldforge as ff
>>> Cell, Edge = ff.Dimension("Cell"), ff.Dimension("Edge")
>>> E2CDim = ff.Dimension("E2C", ff.DimensionKind.LOCAL)
>>> ends = [[0, 3], [3, 1], [1, 4], [4, 2], [2, 5]]
>>> line = ff.as_connectivity([Edge, E2CDim], Cell, ends)
>>> partition(line, 2, method="order")
array([1, 1, 0, 1, 0, 0])
"""

from __future__ import annotations

import importlib.util
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..fields import Connectivity
from ..process import ArgumentError, classes
from .pattern import Indices

Method: TypeAlias = Literal["metis", "bisection", "order"]
METHODS: Final = ("metis", "bisection", "order")


def partition(
    links: Connectivity,
    ranks: int,
    *,
    coordinates: NDArray[Any] | None = None,
    method: Method | None = None,
) -> Indices:
    """Return the rank of each point, (points,); all ranks of a job compute the same.

    Args:
        links: a table whose rows name points that are neighbours of each other, such as `E2C` for
            cells. Each point must be in some row.
        ranks: any number; some ranks may get no points.
        coordinates: (points, axes), for bisection.
        method: 'metis' cuts the fewest links (extra `metis`), 'bisection' needs coordinates,
            'order' cuts a Cuthill-McKee order into pieces. By default the first that is possible.

    Raises:
        ArgumentError: what the method needs is missing.

    """
    if method is None:
        method = "order" if coordinates is None else "bisection"
        method = "metis" if has_metis() else method
    match method:
        case "bisection" if coordinates is not None:
            return bisect(coordinates, ranks)
        case "order":
            return _pieces(cuthill_mckee(Graph.of(links.asnumpy())), ranks)
        case "metis" if has_metis():
            return _by_metis(Graph.of(links.asnumpy()), ranks)
    needs = {"bisection": "'coordinates'", "metis": "the package 'pymetis'"}.get(method)
    if needs is None:
        raise ArgumentError(f"Expected one of {', '.join(METHODS)} as the method, got '{method}'.")
    raise ArgumentError(
        f"Method '{method}' needs {needs}.", hint="Leave 'method' out to take what is possible."
    )


def has_metis() -> bool:
    """Tell whether METIS is installed."""
    return importlib.util.find_spec("pymetis") is not None


@classes.frozen(eq=False)
class Graph:
    """Which points are neighbours: those of point i are `ids[first[i] : first[i + 1]]`, sorted."""

    first: Indices
    ids: Indices

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Graph:
        """Link all points that a row of a table names."""
        width = rows.shape[1]
        pairs = [rows[:, [i, j]] for i in range(width) for j in range(width) if i != j]
        both = np.concatenate([np.empty((0, 2), np.int64), *pairs]).astype(np.int64)
        start, end = both.T
        is_link = (start >= 0) & (end >= 0) & (start != end)
        count = int(rows.max(initial=-1)) + 1
        start, end = np.divmod(distinct(start[is_link] * count + end[is_link]), max(count, 1))
        degrees = np.bincount(start, minlength=count)
        return cls(np.concatenate([[0], np.cumsum(degrees)]), end)

    @property
    def degrees(self) -> Indices:
        """How many neighbours each point has."""
        return np.diff(self.first)

    def neighbours(self, points: Indices) -> Indices:
        """Return the neighbours of some points, point by point."""
        counts = self.degrees[points]
        ends = np.cumsum(counts)
        places = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
        return np.asarray(self.ids[np.repeat(self.first[points], counts) + places])


def distinct(numbers: Indices) -> Indices:
    """Return the distinct numbers, sorted; sorting is faster than the table of `np.unique`."""
    ordered = np.sort(numbers)
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    return np.asarray(ordered[is_first[: len(ordered)]])


def cuthill_mckee(graph: Graph) -> Indices:
    """Return all points in an order in which neighbours are near each other.

    The points come in rings around a point at the edge; in a ring, those that the first points of
    the ring before lead to come first, and of these the ones with the fewest neighbours.

    >>> cuthill_mckee(Graph.of(np.array([[0, 3], [3, 1], [1, 2]])))
    array([2, 1, 3, 0])
    """
    seen = np.zeros(len(graph.degrees), bool)
    parts: list[Indices] = []
    for start in np.argsort(graph.degrees, kind="stable").tolist():
        if not seen[start]:
            edge = _rings(graph, start, seen.copy())[-1]
            parts += _rings(graph, int(edge[0]), seen)
    return np.concatenate([np.empty(0, np.int64), *parts])


def _rings(graph: Graph, start: int, seen: NDArray[np.bool_]) -> list[Indices]:
    """Return the rings of points around one; mark them as seen."""
    found: list[Indices] = []
    ring = np.array([start])
    seen[start] = True
    while len(ring):
        found.append(ring)
        near = graph.neighbours(ring)
        parents = np.repeat(np.arange(len(ring)), graph.degrees[ring])[~seen[near]]
        near = near[~seen[near]]
        near = near[np.lexsort((near, graph.degrees[near], parents))]
        ring = near[np.sort(np.unique(near, return_index=True)[1])]
        seen[ring] = True
    return found


def _pieces(order: Indices, ranks: int) -> Indices:
    owners = np.empty(len(order), np.int64)
    owners[order] = np.arange(len(order)) * ranks // max(len(order), 1)
    return owners


def _by_metis(graph: Graph, ranks: int) -> Indices:
    if ranks == 1 or ranks >= len(graph.degrees):  # METIS asks for fewer parts than points
        return _pieces(cuthill_mckee(graph), ranks)
    import pymetis

    links = pymetis.CSRAdjacency(graph.first, graph.ids)
    _, owners = pymetis.part_graph(ranks, links, options=pymetis.Options(seed=0))
    return np.asarray(owners, np.int64)


def bisect(coordinates: NDArray[Any], ranks: int) -> Indices:
    """Return the rank of each point, (points,).

    Cuts across the longest extent, again and again. The ranks' numbers of points differ by one at
    most per cut; points at equal coordinates are taken in their order, so the result is the same
    everywhere.

    Args:
        coordinates: (points, axes), in units that can be compared; on a sphere x, y and z.
        ranks: any number; more than there are points leaves ranks empty.

    >>> bisect(np.array([[0.0, 0.0], [9.0, 0.0], [1.0, 1.0], [8.0, 1.0]]), 2)
    array([0, 1, 0, 1])
    """
    owners = np.zeros(len(coordinates), np.int64)
    _cut(np.asarray(coordinates), np.arange(len(coordinates)), 0, ranks, owners)
    return owners


def _cut(coordinates: NDArray[Any], ids: Indices, rank: int, ranks: int, owners: Indices) -> None:
    if ranks == 1 or not len(ids):
        owners[ids] = rank
        return
    here = coordinates[ids]
    axis = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
    order = ids[np.argsort(here[:, axis], kind="stable")]
    lower = ranks // 2
    middle = len(ids) * lower // ranks
    _cut(coordinates, np.sort(order[:middle]), rank, lower, owners)
    _cut(coordinates, np.sort(order[middle:]), rank + lower, ranks - lower, owners)
