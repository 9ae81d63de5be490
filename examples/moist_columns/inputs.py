"""What the model needs on one rank: its part of the mesh, and the values on it.

One process makes the inputs of all ranks and sends them: they hold nothing of the whole sphere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..mesh_geometry import Numbers
from ..saturation_adjustment import VAPOUR_GAS
from ..shallow_water.grid import C2EDim, Cell, Edge
from .columns import Columns, mixing, wind_of
from .programs import K


@attrs.frozen(kw_only=True, eq=False)
class Inputs:
    """A state and constant coefficients on the local points of one rank.

    `state` has temperature, vapour and cloud water, (cells, levels) each; `constants` are arguments
    of the program by name: their dimensions and their values.
    """

    part: LocalMesh
    dt: float
    state: tuple[Numbers, ...]
    constants: Mapping[str, tuple[tuple[ff.Dimension, ...], Numbers]]

    @property
    def levels(self) -> int:
        """How many levels a column has."""
        return int(self.state[0].shape[1])


def inputs_of(air: Columns, dt: float, parts: Iterable[LocalMesh]) -> Iterator[Inputs]:
    """Yield the inputs of ranks.

    Args:
        air: the columns of the whole sphere.
        dt: the time step in seconds.
        parts: what each of the ranks has of it.
    """
    grid = air.grid
    c2e = grid.tables["C2E"]
    outflow = grid.out_of_cell * grid.edge_lengths[c2e] / grid.cell_areas[:, None]
    outflow = np.where(c2e >= 0, outflow, 0.0)
    wind = wind_of(grid, len(air.heights))
    columns = {name: ((K,), each) for name, each in zip("abc", mixing(air, dt), strict=True)}
    columns["per_density"] = ((K,), 1.0 / (air.density * VAPOUR_GAS))
    for part in parts:
        yield Inputs(
            part=part,
            dt=dt,
            state=tuple(part.localised(each, Cell) for each in (air.t, air.vapour, air.cloud)),
            constants={
                "wind": ((Edge, K), part.localised(wind, Edge)),
                "outflow": ((Cell, C2EDim), part.localised(outflow, Cell)),
                **columns,
            },
        )
