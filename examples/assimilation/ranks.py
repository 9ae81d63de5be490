"""The sphere on ranks: what each has of it, and arrays of the whole sphere from their parts.

A rank computes the next state on its own points and on as many levels of the halo as a stage reads.
So it has all that hands back to its own points, in the order of the whole mesh, and the bits of a
gradient do not depend on the number of ranks.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.local_mesh import LocalMesh

from ..mesh_geometry import Numbers
from ..shallow_water.extents import OF_ADVANCE, OF_DIAGNOSE, extents, sizes
from ..shallow_water.grid import Grid
from ..shallow_water.model import HALO, parts_of

WIDER: Final = 2 * HALO  # levels of cells: a stage and its adjoint


class Comm(Protocol):
    """What the assimilation needs of a communicator of mpi4py."""

    rank: int
    size: int

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return what each rank gives."""


class Share:
    """What one rank has of the sphere.

    Args:
        grid: the whole sphere, which each rank has.
        comm: the ranks.
        exchange: fills the halos of fields.

    """

    def __init__(self, grid: Grid, comm: Comm, exchange: Any = None) -> None:
        self.comm, self.exchange = comm, exchange
        self.part: LocalMesh = parts_of(grid, comm.size, WIDER)[comm.rank]
        self.sizes = {dim: len(each.levels) for dim, each in self.part.points.items()}
        ends = extents(self.part, HALO)
        self.ends = sizes(OF_DIAGNOSE, ends), sizes(OF_ADVANCE, ends)

    def local(self, dim: ff.Dimension, array: Numbers) -> Numbers:
        """Return the local rows of an array over the whole sphere."""
        return self.part.localised(array, dim)

    def whole(self, dim: ff.Dimension, local: Numbers) -> Numbers:
        """Return an array over the whole sphere from what each rank owns; all ranks get it."""
        points = self.part.points[dim]
        own = points.global_ids[: points.owned], np.array(local[: points.owned])
        shares = self.comm.allgather(own)
        made = np.empty(sum(len(ids) for ids, _ in shares))
        for ids, values in shares:
            made[ids] = values
        return made
