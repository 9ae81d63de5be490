"""The flux limiter of MPDATA in layers: one operator, limited fluxes on western and southern faces.

After Smolarkiewicz and Grabowski (1990), Journal of Computational Physics 86: what a cell has room
for, up to the extrema of its surroundings before and after the upwind step, limits each flux.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import maximum, minimum
from fieldforge.examples.precision import wpfloat

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
IW, JS = ff.flip_staggered(I), ff.flip_staggered(J)
Cells = ff.Field[ff.Dims[I, J, K], wpfloat]
West = ff.Field[ff.Dims[IW, J, K], wpfloat]
South = ff.Field[ff.Dims[I, JS, K], wpfloat]
HALO = 3


@ff.field_operator
def highest(x: Cells) -> Cells:
    """Maximum of a cell and its four neighbours."""
    return maximum(x, maximum(maximum(x(I + 1), x(I - 1)), maximum(x(J + 1), x(J - 1))))


@ff.field_operator
def lowest(x: Cells) -> Cells:
    """Minimum of a cell and its four neighbours."""
    return minimum(x, minimum(minimum(x(I + 1), x(I - 1)), minimum(x(J + 1), x(J - 1))))


@ff.field_operator
def room(
    q: Cells, before: Cells, density: Cells, fx: West, fy: South, epsilon: wpfloat
) -> tuple[Cells, Cells]:
    """Return the shares of in- and outflow after which a cell reaches its surroundings."""
    zero = wpfloat(0.0)
    inflow = (
        maximum(fx(I - 0.5), zero) - minimum(fx(I + 0.5), zero)
        + maximum(fy(J - 0.5), zero) - minimum(fy(J + 0.5), zero)
    )  # fmt: skip
    outflow = (
        maximum(fx(I + 0.5), zero) - minimum(fx(I - 0.5), zero)
        + maximum(fy(J + 0.5), zero) - minimum(fy(J - 0.5), zero)
    )  # fmt: skip
    return (
        (highest(maximum(q, before)) - q) * density / (inflow + epsilon),
        (q - lowest(minimum(q, before))) * density / (outflow + epsilon),
    )


@ff.field_operator
def held_back(up: Cells, down: Cells, fx: West, fy: South) -> tuple[West, South]:
    """Scale fluxes to what the cells on both sides have room for."""
    zero, one = wpfloat(0.0), wpfloat(1.0)
    east = minimum(one, minimum(down(IW - 0.5), up(IW + 0.5)))
    west = minimum(one, minimum(up(IW - 0.5), down(IW + 0.5)))
    north = minimum(one, minimum(down(JS - 0.5), up(JS + 0.5)))
    south = minimum(one, minimum(up(JS - 0.5), down(JS + 0.5)))
    return (
        east * maximum(fx, zero) + west * minimum(fx, zero),
        north * maximum(fy, zero) + south * minimum(fy, zero),
    )


@ff.field_operator
def limited(
    q: Cells, before: Cells, density: Cells, fx: West, fy: South, epsilon: wpfloat
) -> tuple[West, South]:
    """Return what is left of the antidiffusive fluxes."""
    up, down = room(q, before, density, fx, fy, epsilon)
    return held_back(up, down, fx, fy)


@ff.program
def program(
    q: Cells, before: Cells, density: Cells, fx: West, fy: South, epsilon: wpfloat,
    lx: West, ly: South,
    nx: ff.int32, ny: ff.int32, nz: ff.int32,
):  # fmt: skip
    """Write the faces of all cells."""
    limited(
        q, before, density, fx, fy, epsilon,
        out=(lx, ly),
        domain=(
            {IW: (0, nx + 1), J: (0, ny), K: (0, nz)}, {I: (0, nx), JS: (0, ny + 1), K: (0, nz)}
        ),
    )  # fmt: skip


@ff.program
def room_first(
    q: Cells, before: Cells, density: Cells, fx: West, fy: South, epsilon: wpfloat,
    up: Cells, down: Cells,
    nx: ff.int32, ny: ff.int32, nz: ff.int32,
):  # fmt: skip
    """Write what cells have room for, one more around the domain."""
    room(
        q, before, density, fx, fy, epsilon,
        out=(up, down), domain={I: (-1, nx + 1), J: (-1, ny + 1), K: (0, nz)},
    )  # fmt: skip


@ff.program
def fluxes_then(
    up: Cells, down: Cells, fx: West, fy: South, lx: West, ly: South,
    nx: ff.int32, ny: ff.int32, nz: ff.int32,
):  # fmt: skip
    """Write the faces of all cells from the room that cells have."""
    held_back(
        up, down, fx, fy,
        out=(lx, ly),
        domain=(
            {IW: (0, nx + 1), J: (0, ny), K: (0, nz)}, {I: (0, nx), JS: (0, ny + 1), K: (0, nz)}
        ),
    )  # fmt: skip


SPLIT = (room_first, fluxes_then)
HANDED_ON = {"up": (I, J, K), "down": (I, J, K)}
FIELDS = {
    "q": (I, J, K), "before": (I, J, K), "density": (I, J, K), "fx": (IW, J, K), "fy": (I, JS, K),
}  # fmt: skip
OUTPUTS = {"lx": (IW, J, K), "ly": (I, JS, K)}
SCALARS = {"epsilon": 1e-15}
RANGES = {"q": (0.0, 1.0), "before": (0.0, 1.0), "density": (0.9, 1.1)}
