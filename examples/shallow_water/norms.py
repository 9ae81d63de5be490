"""Norms of the error and conserved quantities, summed in the order of global ids.

The order does not depend on the number of ranks, so neither do the bits.
"""

from __future__ import annotations

import attrs
import numpy as np

from ..mesh_geometry import Numbers
from .cases import GRAVITY, State
from .grid import Grid


@attrs.frozen
class Norms:
    """Relative errors of a field, as Williamson et al. (1992) define them."""

    l1: float
    l2: float
    linf: float


@attrs.frozen
class Conserved:
    """Integrals over the sphere: mass in m^3, energy in m^5/s^2, potential enstrophy in m/s^2."""

    mass: float
    energy: float
    potential_enstrophy: float

    def drift(self, since: Conserved) -> Conserved:
        """Return the relative change since another time."""
        now, then = attrs.astuple(self), attrs.astuple(since)
        return Conserved(*((a - b) / b for a, b in zip(now, then, strict=True)))


def norms(field: Numbers, exact: Numbers, areas: Numbers) -> Norms:
    """Return the norms of the error of a field on cells; all arrays are (cells,)."""
    error = field - exact
    return Norms(
        l1=float((areas * np.abs(error)).sum() / (areas * np.abs(exact)).sum()),
        l2=float(np.sqrt((areas * error**2).sum() / (areas * exact**2).sum())),
        linf=float(np.abs(error).max() / np.abs(exact).max()),
    )


def vorticity(grid: Grid, u: Numbers) -> Numbers:
    """Return the relative vorticity at the vertices, 1/s."""
    around = grid.around_vertex * (grid.cell_distances * u)[grid.tables["V2E"]]
    return np.asarray(around.sum(1) / grid.vertex_areas)


def conserved(grid: Grid, start: State, h: Numbers, u: Numbers) -> Conserved:
    """Return the integrals that the scheme conserves in space."""
    cells = grid.tables["E2C"]
    at_edges = 0.5 * (h[cells[:, 0]] + h[cells[:, 1]])
    kinetic = 0.5 * grid.edge_lengths * grid.cell_distances * at_edges * u**2
    potential = GRAVITY * grid.cell_areas * h * (0.5 * h + start.ground)
    at_vertices = (grid.kites * h[grid.tables["V2C"]]).sum(1) / grid.vertex_areas
    absolute = start.coriolis + vorticity(grid, u)
    return Conserved(
        mass=float((grid.cell_areas * h).sum()),
        energy=float(kinetic.sum() + potential.sum()),
        potential_enstrophy=float((grid.vertex_areas * absolute**2 / (2 * at_vertices)).sum()),
    )
