"""The air of the whole sphere in columns: its first state, the wind, and what mixes it."""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np

from ..mesh_geometry import Numbers
from ..saturation_adjustment import MELTING, POLE, PRESSURE, SLOPE, VAPOUR_GAS
from ..shallow_water.grid import Grid

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
