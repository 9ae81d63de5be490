"""How far the programs of a stage compute, before the halo has arrived and after.

The values of a stage depend on each other through tables. From the points whose `h` and `u` may be
read follow those on which each value can be computed; the local order makes them leading ranges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

import fieldforge as ff
from fieldforge.runtime.decomposition.mesh import LocalMesh

from .grid import Cell, Edge

OF_DIAGNOSE: Final = ("flux", "q", "q_edge", "head")
OF_ADVANCE: Final = ("h", "u")


@attrs.frozen
class Extents:
    """How many leading points each value is computed on."""

    flux: int
    q: int
    q_edge: int
    head: int
    h: int
    u: int


NOWHERE: Final = Extents(0, 0, 0, 0, 0, 0)


def extents_from(part: LocalMesh, cells: int, edges: int) -> Extents:
    """Return the extents if `h` and `u` may be read on the first `cells` and `edges`."""
    flux = min(part.leading("E2C", cells), edges)
    q = min(part.leading("V2C", cells), part.leading("V2E", edges))
    q_edge = part.leading("E2V", q)
    head = min(part.leading("C2E", edges), cells)
    around = min(part.leading("E2E2C", min(q_edge, flux)), part.leading("E2C", head), q_edge)
    points = part.points
    return Extents(
        flux=flux,
        q=q,
        q_edge=q_edge,
        head=head,
        h=min(part.leading("C2E", flux), points[Cell].owned),
        u=min(around, points[Edge].owned),
    )


def before_and_after(part: LocalMesh) -> tuple[Extents, Extents]:
    """Return the extents without the halo and with it."""
    points = part.points
    return (
        extents_from(part, points[Cell].owned, points[Edge].owned),
        extents_from(part, len(points[Cell].levels), len(points[Edge].levels)),
    )


def sizes(names: tuple[str, ...], begin: Extents, end: Extents) -> dict[str, ff.int32]:
    """Return the bounds of some values as arguments of a program."""

    def bounds() -> Iterator[tuple[str, ff.int32]]:
        for name in names:
            yield f"{name}_begin", ff.int32(getattr(begin, name))
            yield f"{name}_end", ff.int32(getattr(end, name))

    return dict(bounds())
