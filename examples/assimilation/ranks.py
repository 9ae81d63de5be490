"""The sphere on ranks: what each has of it, and arrays of the whole sphere from their parts.

A rank computes the next state on its own points and on as many levels of the halo as a stage reads.
So it has all that hands back to its own points, in the order of the whole mesh, and the bits of a
gradient do not depend on the number of ranks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final, Protocol, TypeVar

import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.exchange import local_exchanges
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..mesh_geometry import Numbers
from ..shallow_water.extents import OF_ADVANCE, OF_DIAGNOSE, extents, sizes
from ..shallow_water.grid import Grid
from ..shallow_water.model import HALO, parts_of

Result = TypeVar("Result")
WIDER: Final = 2 * HALO  # levels of cells: a stage and its adjoint


class Comm(Protocol):
    """What the assimilation needs of a communicator of mpi4py."""

    rank: int
    size: int

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return what each rank gives."""


class _Together:
    """What ranks that are threads share: a value of each, and where they wait for each other."""

    def __init__(self, ranks: int) -> None:
        self.values: list[Any] = [None] * ranks
        self.barrier = threading.Barrier(ranks)


class Thread:
    """A rank that is a thread of this process."""

    def __init__(self, rank: int, size: int, together: _Together) -> None:
        self.rank, self.size, self._together = rank, size, together

    def allgather(self, sendobj: Any) -> list[Any]:
        """Return what each rank gives."""
        self._together.values[self.rank] = sendobj
        self._together.barrier.wait()
        found = list(self._together.values)
        self._together.barrier.wait()
        return found

    def exchange(self, part: LocalMesh) -> Any:
        """Return the exchange of this rank."""
        patterns = self.allgather(part.patterns)
        return self.allgather(local_exchanges(patterns) if self.rank == 0 else None)[0][self.rank]


def on_threads(ranks: int, run: Callable[[Thread], Result]) -> list[Result]:
    """Run a function for each rank, on a thread of its own; return what each returns."""
    together = _Together(ranks)

    def one(rank: int) -> Result:
        try:
            return run(Thread(rank, ranks, together))
        except BaseException:
            together.barrier.abort()  # the others wait for this one
            raise

    with ThreadPoolExecutor(ranks) as pool:
        running = [pool.submit(one, rank) for rank in range(ranks)]
        wait(running)
        errors = [each.exception() for each in running]
        for error in errors:  # not of those that only waited
            if error is not None and not isinstance(error, threading.BrokenBarrierError):
                raise error
        return [each.result() for each in running]


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
