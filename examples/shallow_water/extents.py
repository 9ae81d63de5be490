"""How far the programs of a stage compute on one rank.

The values of a stage depend on each other through tables, some of whose entries are missing at the
edge of the halo. The local order makes the points on which a value can be computed leading ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

import fieldforge as ff
from fieldforge.runtime.decomposition.pattern import LocalMesh

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


def extents(part: LocalMesh, levels: int = 0) -> Extents:
    """Return the extents for which `h` and `u` are known on all local points.

    The next `h` and `u` are computed on owned points and on some levels of the halo: adjoints need
    as many as a stage reads.
    """
    points = part.points
    cells, edges = len(points[Cell].levels), len(points[Edge].levels)
    flux = min(part.leading("E2C", cells), edges)
    q = min(part.leading("V2C", cells), part.leading("V2E", edges))
    q_edge = part.leading("E2V", q)
    head = min(part.leading("C2E", edges), cells)
    around = min(part.leading("E2E2C", min(q_edge, flux)), part.leading("E2C", head), q_edge)
    return Extents(
        flux=flux,
        q=q,
        q_edge=q_edge,
        head=head,
        h=min(part.leading("C2E", flux), points[Cell].up_to(levels)),
        u=min(around, points[Edge].up_to(levels)),
    )


def sizes(names: Sequence[str], of: Extents) -> dict[str, ff.int32]:
    """Return the extents of some values as arguments of a program."""
    return {f"{name}_end": ff.int32(getattr(of, name)) for name in names}
