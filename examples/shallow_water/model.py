"""Shallow water on one rank: programs set up once, a recorded Runge-Kutta step, halos exchanged.

The classical method of fourth order takes four stages. Each needs the halo of `h` and `u` once,
two levels of cells wide; what lies between is computed in the halo, too, so that the bits do not
depend on the number of ranks. While the halo travels, each rank computes what does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.runtime.decomposition.exchange import HaloExchange, LocalExchange
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.messages import on_device
from fieldforge.runtime.decomposition.partitioning import partition
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..mesh_geometry import Numbers
from .cases import GRAVITY
from .extents import OF_ADVANCE, OF_DIAGNOSE, extents, sizes
from .grid import Cell, Edge, Grid, Vertex, connectivities
from .inputs import Inputs
from .programs import advance, diagnose

HALO: Final = 2  # levels of cells that a tendency reads
STAGES: Final = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))  # of h0 + a dt k, w dt k


def parts_of(grid: Grid, ranks: int, halo: int = HALO) -> tuple[LocalMesh, ...]:
    """Cut a grid for some ranks, by METIS if it is installed, else by the cells' coordinates."""
    tables = connectivities(grid.tables)
    return decompose(
        tables,
        Cell,
        partition(tables["E2C"], ranks, coordinates=grid.cell_points),
        attached=["E2C", "V2C"],
        halo=halo,
        ranks=ranks,
    )


@attrs.frozen(eq=False)
class Fields:
    """Fields on the local points of one rank."""

    h: Any
    u: Any


Phase: TypeAlias = tuple[str, Callable[[], Any]]  # 'start', 'inner', 'finish', 'outer'; or 'whole'


class ShallowWater:
    """The model on one rank; `phases` are the recorded parts of a step.

    Args:
        inputs: of this rank.
        dt: the time step in seconds.
        backend: of the programs, which allocates the fields, or None to run embedded.
        exchange: fills the halos of fields; not needed on one rank.

    """

    def __init__(
        self,
        inputs: Inputs,
        dt: float,
        backend: Any,
        exchange: HaloExchange | None = None,
    ) -> None:
        self.part, self.dt = inputs.part, dt
        self._exchange, self._allocator = exchange, backend
        part = inputs.part
        self._sizes = {dim: len(part.points[dim].global_ids) for dim in (Cell, Edge, Vertex)}
        self.now = Fields(self._field((Cell,), inputs.h), self._field((Edge,), inputs.u))
        self._stages, self._sum = (self._zeros(), self._zeros()), self._zeros()
        self._between = {
            "flux": self._empty(Edge),
            "q_edge": self._empty(Edge),
            "head": self._empty(Cell),
        }
        fixed = {
            name: self._field(dims, array) for name, (dims, array) in inputs.constants.items()
        } | {"gravity": GRAVITY, "q": self._empty(Vertex)}
        self._tables = part.connectivities(backend)
        self.diagnosing, self.advancing = self._split()
        self.inner = self._set_up(fixed, backend, self.diagnosing.inner, self.advancing.inner)
        self.outer = self._set_up(fixed, backend, self.diagnosing.outer, self.advancing.outer)
        self.phases: list[Phase] = []

    def _field(self, dims: tuple[ff.Dimension, ...], array: Numbers) -> Any:
        return ff.as_field(dims, array, allocator=self._allocator)

    def _empty(self, dim: ff.Dimension) -> Any:
        return ff.zeros({dim: self._sizes[dim]}, allocator=self._allocator)

    def _zeros(self) -> Fields:
        return Fields(self._empty(Cell), self._empty(Edge))

    def _split(self) -> tuple[Any, Any]:
        """Cut both programs into what needs no halo of `h` and `u`, and the rest."""
        ends, provider = extents(self.part), self._tables
        diagnosing = diagnose.split(
            halo={"h": self.part.owned, "u": self.part.owned},
            offset_provider=provider,
            **sizes(OF_DIAGNOSE, ends),
        )
        advancing = advance.split(
            halo={name: diagnosing.ready[name] for name in self._between},
            offset_provider=provider,
            **sizes(OF_ADVANCE, ends),
        )
        return diagnosing, advancing

    def _set_up(
        self, fixed: Mapping[str, Any], backend: Any, diagnosing: Any, advancing: Any
    ) -> tuple[Any, Any]:
        """Set up one half of both programs."""
        provider = self._tables
        diagnosed = ("coriolis", "ground", "curl", "share", "kinetic", "gravity", "q")
        advanced = ("divergence", "tangential", "per_distance")
        return (
            ff.setup(
                diagnosing,
                backend=backend,
                constant_args={name: fixed[name] for name in diagnosed} | self._between,
                offset_provider=provider,
            ),
            ff.setup(
                advancing,
                backend=backend,
                constant_args={name: fixed[name] for name in advanced}
                | self._between
                | {"h0": self.now.h, "u0": self.now.u},
                offset_provider=provider,
            ),
        )

    def step(self) -> None:
        """Advance by one time step; the first call records the programs of each stage."""
        if not self.phases:
            self._record()
            return
        for _, replay in self.phases:
            replay()

    def wait(self) -> None:
        """Wait until the steps are done: on a GPU they are only queued."""
        array = on_device(self.now.h.ndarray)
        if array is not None:
            gpu.current_stream(array.device).sync()

    def abandon(self) -> None:
        """Let ranks in the same process that wait for this one fail."""
        if isinstance(self._exchange, LocalExchange):
            self._exchange.abandon()

    def _record(self) -> None:
        """Make the first step and keep how to repeat it."""
        numbers = range(len(STAGES))
        if self._exchange is None:
            with ff.record() as whole:
                for number in numbers:
                    self._take(self.inner, number)
            self.phases.append(("whole", whole))
            return
        for number in numbers:
            source = self._source(number)
            start = partial(self._exchange.start, source.h, source.u, untouched=True)
            start()
            with ff.record() as inner:
                self._take(self.inner, number)
            self._exchange.finish()
            with ff.record() as outer:
                self._take(self.outer, number)
            self.phases += [
                ("start", start),
                ("inner", inner),
                ("finish", self._exchange.finish),
                ("outer", outer),
            ]

    def _source(self, number: int) -> Fields:
        """Return what a stage reads: the start of the step, then one of two sets in turn.

        There are two because the inner part of a stage writes while the outer part still reads.
        """
        return self._stages[number % 2] if number else self.now

    def _take(self, programs: tuple[Any, Any], number: int) -> None:
        """Take one stage on some of the points: the first reads `now`, the last writes it."""
        diagnosing, advancing = programs
        a, w = STAGES[number]
        source, scratch = self._source(number), self._stages[(number + 1) % 2]
        sums = self._sum if number else self.now
        into = self.now if number == len(STAGES) - 1 else self._sum
        diagnosing(h=source.h, u=source.u)
        advancing(
            h_sum=sums.h,
            u_sum=sums.u,
            a=a * self.dt,
            w=w * self.dt,
            h_next=scratch.h,
            u_next=scratch.u,
            h_sum_out=into.h,
            u_sum_out=into.u,
        )

    def owned(self) -> tuple[Numbers, Numbers]:
        """Return copies of `h` and `u` on the points that this rank owns."""
        points = self.part.points
        return (
            np.array(self.now.h.asnumpy()[: points[Cell].owned]),
            np.array(self.now.u.asnumpy()[: points[Edge].owned]),
        )


def in_global_order(parts: Sequence[LocalMesh], dim: ff.Dimension, owned: list[Numbers]) -> Numbers:
    """Return one array over all points of a dimension from what each rank owns, its first rows."""
    whole = np.empty((sum(map(len, owned)), *owned[0].shape[1:]))
    for part, values in zip(parts, owned, strict=True):
        whole[part.points[dim].global_ids[: len(values)]] = values
    return whole
