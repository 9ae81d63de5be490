"""Moist columns on one rank: two buffers in turn, each step split around the exchange of halos.

A rotating wind carries a warm, wet region around the sphere. Where nearly saturated levels of
different temperature mix, cloud forms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.exchange import HaloExchange
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.partitioning import partition
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..mesh_geometry import Numbers
from ..shallow_water.grid import Cell, Grid, connectivities
from .inputs import Inputs
from .programs import K, step

NAMES: Final = ("t", "vapour", "cloud")


def parts_of(grid: Grid, ranks: int) -> tuple[LocalMesh, ...]:
    """Cut a grid for some ranks, with one level of halo."""
    tables = {name: connectivities(grid.tables)[name] for name in ("C2E", "E2C")}
    owners = partition(tables["E2C"], ranks, coordinates=grid.cell_points)
    return decompose(tables, Cell, owners, attached=["E2C"], halo=1, ranks=ranks)


class MoistColumns:
    """The model on one rank; `state` has the fields of the last step.

    Args:
        inputs: of this rank.
        backend: of the program, or None to run embedded.
        exchange: fills the halos of fields; not needed on one rank.

    """

    def __init__(self, inputs: Inputs, backend: Any, exchange: HaloExchange | None = None) -> None:
        self.part, self._exchange = inputs.part, exchange
        self._count, levels = len(self.part.points[Cell].global_ids), inputs.levels
        self._tables = self.part.connectivities()
        self.state: Sequence[Any] = [ff.as_field([Cell, K], each) for each in inputs.state]
        other = self._empty(levels)
        work = [*self._empty(levels), *self._empty(levels)]
        fixed = {name: ff.as_field(dims, each) for name, (dims, each) in inputs.constants.items()}
        fixed |= {f"moved_{name}": each for name, each in zip(NAMES, work[:3], strict=True)}
        fixed |= {f"mixed_{name}": each for name, each in zip(NAMES, work[3:], strict=True)}
        halves = self._split()
        self._turns = [
            [
                self._set_up(half, backend, levels, {
                    **fixed,
                    **dict(zip(NAMES, old, strict=True)),
                    **{f"new_{name}": each for name, each in zip(NAMES, new, strict=True)},
                    "dt": inputs.dt,
                })
                for half in (halves.inner, halves.outer)
            ]
            for old, new in ((self.state, other), (other, self.state))
        ]  # fmt: skip
        self._buffers = (self.state, other)
        self._turn = 0

    def _empty(self, levels: int) -> list[Any]:
        return [ff.zeros({Cell: self._count, K: levels}) for _ in NAMES]

    def _split(self) -> Any:
        return step.split(
            halo=dict.fromkeys(NAMES, self.part.owned),
            offset_provider=self._tables,
            cells=ff.int32(self.part.points[Cell].owned),
        )

    def _set_up(
        self, half: Any, backend: Any, levels: int, fixed: Mapping[str, Any]
    ) -> Callable[[], Any]:
        made: Callable[[], Any] = ff.setup(
            half,
            backend=backend,
            vertical_sizes={"levels": ff.int32(levels)},
            constant_args=dict(fixed),
            offset_provider=self._tables,
        )
        return made

    def step(self) -> None:
        """Advance by one time step."""
        inner, outer = self._turns[self._turn]
        if self._exchange is None:
            inner()
        else:
            self._exchange.start(*self.state, untouched=True)
            inner()
            self._exchange.finish()
            outer()
        self._turn = 1 - self._turn
        self.state = self._buffers[self._turn]

    def owned(self) -> list[Numbers]:
        """Return copies of the state on the cells that this rank owns."""
        count = self.part.points[Cell].owned
        return [np.array(each.asnumpy()[:count]) for each in self.state]
