"""Two programs that a C and a Fortran model call: a limited diffusion, and a mean of neighbours.

    fieldforge export examples/exported/model.py:diffuse examples/exported/model.py:average \
        --tables :ring --static limited=false,true --layout first -o lib --name small

writes `lib/libsmall.so`, `lib/small.h` and `lib/small.f90`, which `from_c.c` and `from_fortran.f90`
use.
"""

from __future__ import annotations

import numpy as np

import fieldforge as ff

I, J = ff.Dimension("I"), ff.Dimension("J")
Cell = ff.Dimension("Cell")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
C2CDim = ff.Dimension("C2C", kind=ff.DimensionKind.LOCAL)
C2C = ff.FieldOffset("C2C", source=Cell, target=(Cell, C2CDim))
Plane = ff.Field[ff.Dims[I, J], ff.float64]
Column = ff.Field[ff.Dims[Cell, K], ff.float64]


@ff.field_operator
def laplacian(u: Plane) -> Plane:
    """Sum of the four neighbours less four times the point."""
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@ff.field_operator
def diffused(u: Plane, rate: float, limited: bool) -> Plane:
    """One step; a limited one keeps the result positive."""
    new = u + rate * laplacian(u)
    return ff.maximum(new, 0.0) if limited else new


@ff.program
def diffuse(u: Plane, rate: float, limited: bool, out: Plane):
    """Write one step of diffusion; `u` reaches one point further than `out`."""
    diffused(u, rate, limited, out=out)


@ff.field_operator
def averaged(u: Column) -> Column:
    """Half of the value and a quarter of each neighbour."""
    return 0.5 * u + 0.25 * ff.neighbor_sum(u(C2C), axis=C2CDim)


@ff.program
def average(u: Column, out: Column, top: ff.int32, bottom: ff.int32):
    """Write the mean over neighbours, on the levels from `top` to `bottom`."""
    averaged(u, out=out, domain={Cell: (1, 7), K: (top, bottom)})


def ring(cells: int = 6) -> dict[str, ff.Connectivity]:
    """Return the table of a ring of cells that are counted from 1, as in Fortran."""
    neighbours = [[(cell - 1) % cells + 1, (cell + 1) % cells + 1] for cell in range(cells)]
    domain = {Cell: (1, cells + 1), C2CDim: 2}
    return {"C2C": ff.as_connectivity(domain, Cell, np.array(neighbours, dtype=np.int32))}
