"""What the assimilation needs beside the model: smoothing, and the misfit to observations."""

from __future__ import annotations

import fieldforge as ff
from fieldforge import neighbor_sum

from ..shallow_water.grid import C2E, E2C, C2EDim
from ..shallow_water.programs import CellEdges, OfCells, OfEdges


@ff.field_operator
def slope(v: OfCells, per_distance: OfEdges) -> OfEdges:
    """Return the gradient along the normal of edges."""
    return (v(E2C[1]) - v(E2C[0])) * per_distance


@ff.field_operator
def spread(v: OfCells, rise: OfEdges, divergence: CellEdges, amount: ff.float64) -> OfCells:
    """Return what an explicit step of diffusion makes of `v`."""
    return v + amount * neighbor_sum(rise(C2E) * divergence, axis=C2EDim)


@ff.program
def diffuse(
    v: OfCells,
    per_distance: OfEdges,
    divergence: CellEdges,
    amount: ff.float64,
    rise: OfEdges,
    out: OfCells,
):
    """Make a step of diffusion; many of them convolve with a Gaussian."""
    slope(v, per_distance, out=rise)
    spread(v, rise, divergence, amount, out=out)


@ff.field_operator
def half_square(h: OfCells, seen: OfCells, weight: OfCells) -> OfCells:
    """Return what each cell adds to the misfit."""
    return 0.5 * weight * (h - seen) * (h - seen)


@ff.program
def misfit(h: OfCells, seen: OfCells, weight: OfCells, out: OfCells):
    """Write the misfit; `weight` is 0 where nothing was seen, else 1 over the error squared."""
    half_square(h, seen, weight, out=out)
