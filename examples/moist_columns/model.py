"""Moist columns on one rank: two buffers in turn, each step split around the exchange of halos.

A rotating wind carries a warm, wet region around the sphere. Where nearly saturated levels of
different temperature mix, cloud forms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.exchange import HaloExchange
from fieldforge.runtime.decomposition.local_mesh import LocalMesh
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.sharing import share

from ..mesh_geometry import Numbers
from ..saturation_adjustment import MELTING, POLE, PRESSURE, SLOPE, VAPOUR_GAS
from ..shallow_water.grid import C2EDim, Cell, Edge, Grid, connectivities
from .programs import K, step

NAMES: Final = ("t", "vapour", "cloud")
DEPTH: Final = 12000.0  # metres of air
SCALE: Final = 8000.0  # height over which the density falls to 1/e
DAYS_AROUND: Final = 12.0
EDDIES: Final = 20.0  # m2/s of vertical mixing
COURANT: Final = 0.4
DAY: Final = 86400.0


@attrs.frozen(eq=False)
class Columns:
    """The columns of all cells: levels from the top, density, thickness, and the first state.

    `t`, `vapour` and `cloud` have shape (cells, levels), `density` and `heights` (levels,).
    """

    grid: Grid
    heights: Numbers
    density: Numbers
    thickness: float
    t: Numbers
    vapour: Numbers
    cloud: Numbers

    def water(self, vapour: Numbers, cloud: Numbers) -> float:
        """Return the mass of all water in kg."""
        mass = self.grid.cell_areas[:, None] * self.density * self.thickness
        return float((mass * (vapour + cloud)).sum())


def columns(grid: Grid, levels: int) -> Columns:
    """Return columns with a warm region at the equator, in which the air is nearly saturated."""
    thickness = DEPTH / levels
    heights = DEPTH - thickness * (np.arange(levels, dtype=np.float64) + 0.5)
    density = 1.2 * np.exp(-heights / SCALE)
    near = np.exp(-(((grid.cell_points - np.array([1.0, 0.0, 0.0])) ** 2).sum(1) / 0.3))[:, None]
    t = 288.0 - 0.0065 * heights + 6.0 * near
    pressure = PRESSURE * np.exp(SLOPE * (t - MELTING) / (t - POLE))  # at saturation
    vapour = (0.5 + 0.48 * near) * pressure / (density * VAPOUR_GAS * t)
    return Columns(grid, heights, density, thickness, t, vapour, np.zeros_like(t))


def wind_of(grid: Grid, levels: int) -> Numbers:
    """Return the normal wind, (edges, levels): a rotation, stronger aloft, without divergence."""
    speed = 2 * np.pi * grid.radius / (DAYS_AROUND * DAY)
    stream = speed * grid.radius * grid.vertex_points[:, 2]
    first, second = grid.tables["E2V"].T
    normal = (stream[second] - stream[first]) / grid.edge_lengths
    return np.asarray(normal[:, None] * np.linspace(1.5, 0.5, levels))


def time_step(grid: Grid, days: float) -> tuple[int, float]:
    """Return the number of steps and their length in seconds."""
    fastest = 1.5 * 2 * np.pi * grid.radius / (DAYS_AROUND * DAY)
    steps = int(np.ceil(days * DAY * fastest / (COURANT * grid.cell_distances.min())))
    return steps, days * DAY / steps


def mixing(air: Columns, dt: float) -> tuple[Numbers, Numbers, Numbers]:
    """Return the diagonals of the implicit vertical mixing, (levels,) each."""
    between = np.sqrt(air.density[1:] * air.density[:-1]) * EDDIES * dt / air.thickness**2
    above = np.concatenate([[0.0], between]) / air.density
    below = np.concatenate([between, [0.0]]) / air.density
    return -above, 1.0 + above + below, -below


def parts_of(grid: Grid, ranks: int) -> tuple[LocalMesh, ...]:
    """Cut a grid for some ranks, with one level of halo."""
    tables = {name: connectivities(grid.tables)[name] for name in ("C2E", "E2C")}
    owners = share(tables["E2C"], ranks, coordinates=grid.cell_points)
    return decompose(tables, Cell, owners, attached=["E2C"], halo=1, ranks=ranks)


class MoistColumns:
    """The model on one rank; `state` has the fields of the last step.

    Args:
        air: the columns of the whole sphere.
        part: what this rank has of it.
        dt: the time step in seconds.
        backend: of the program, or None to run embedded.
        exchange: fills the halos of fields; not needed on one rank.

    """

    def __init__(
        self,
        air: Columns,
        part: LocalMesh,
        dt: float,
        backend: Any,
        exchange: HaloExchange | None = None,
    ) -> None:
        self.part, self._exchange = part, exchange
        self._count, levels = len(part.points[Cell].global_ids), len(air.heights)
        self.state: Sequence[Any] = [
            ff.as_field([Cell, K], part.localised(getattr(air, name), Cell)) for name in NAMES
        ]
        other = self._empty(levels)
        work = [*self._empty(levels), *self._empty(levels)]
        halves = self._split(levels)
        self._turns = [
            [
                self._set_up(air, dt, backend, half, old, work, new)
                for half in (halves.inner, halves.outer)
            ]
            for old, new in ((self.state, other), (other, self.state))
        ]
        self._buffers = (self.state, other)
        self._turn = 0

    def _empty(self, levels: int) -> list[Any]:
        return [ff.zeros({Cell: self._count, K: levels}) for _ in NAMES]

    def _split(self, levels: int) -> Any:
        return step.split(
            halo=dict.fromkeys(NAMES, self.part.owned),
            offset_provider=self.part.connectivities(),
            cells=ff.int32(self.part.points[Cell].owned),
        )

    def _set_up(
        self, air: Columns, dt: float, backend: Any, half: Any, old: Any, work: Any, new: Any
    ) -> Callable[[], Any]:
        grid, levels = air.grid, len(air.heights)
        c2e = grid.tables["C2E"]
        outflow = grid.out_of_cell * grid.edge_lengths[c2e] / grid.cell_areas[:, None]
        made: Callable[[], Any] = ff.setup(
            half,
            backend=backend,
            vertical_sizes={"levels": ff.int32(levels)},
            constant_args={
                **dict(zip(NAMES, old, strict=True)),
                **{f"moved_{name}": each for name, each in zip(NAMES, work[:3], strict=True)},
                **{f"mixed_{name}": each for name, each in zip(NAMES, work[3:], strict=True)},
                **{f"new_{name}": each for name, each in zip(NAMES, new, strict=True)},
                "wind": self._local(Edge, wind_of(grid, levels), K),
                "outflow": self._local(Cell, np.where(c2e >= 0, outflow, 0.0), C2EDim),
                **{
                    name: ff.as_field([K], each)
                    for name, each in zip("abc", mixing(air, dt), strict=True)
                },
                "per_density": ff.as_field([K], 1.0 / (air.density * VAPOUR_GAS)),
                "dt": dt,
            },
            offset_provider=self.part.connectivities(),
        )
        return made

    def _local(self, dim: ff.Dimension, array: Numbers, other: ff.Dimension) -> Any:
        return ff.as_field([dim, other], self.part.localised(array, dim))

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
