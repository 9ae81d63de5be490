"""The Laplacian on a cubic grid: of the six neighbours, and of all twenty-six.

The wider stencil errs the same in all directions (Spotz and Carey, 1996, Numerical Methods for
Partial Differential Equations 12, "A high-order compact formulation for the 3D Poisson equation").
Its sums over a plane across I serve three points each, as in the multigrid kernel of the NAS
parallel benchmarks (Bailey et al., 1991).
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge.examples.precision import wpfloat

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]

CENTRE, FACE, EDGE, CORNER = -128.0 / 30.0, 14.0 / 30.0, 3.0 / 30.0, 1.0 / 30.0


@ff.field_operator
def laplacian_of_six(u: Levels) -> Levels:
    """Sum of the six neighbours less six times the point."""
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) + u(K + 1) + u(K - 1) - wpfloat(6.0) * u


@ff.field_operator
def sides(u: Levels) -> Levels:
    """Sum of the four nearest neighbours in the plane across I."""
    return u(J - 1) + u(J + 1) + u(K - 1) + u(K + 1)


@ff.field_operator
def diagonals(u: Levels) -> Levels:
    """Sum of the four diagonal neighbours in the plane across I."""
    above, below = u(K - 1), u(K + 1)
    return above(J - 1) + above(J + 1) + below(J - 1) + below(J + 1)


@ff.field_operator
def laplacian_of_all(u: Levels) -> Levels:
    """Weighted sum of the point, 6 faces, 12 edges and 8 corners of the cube around it."""
    near, far = sides(u), diagonals(u)
    return (
        wpfloat(CENTRE) * u
        + wpfloat(FACE) * (u(I - 1) + u(I + 1) + near)
        + wpfloat(EDGE) * (near(I - 1) + near(I + 1) + far)
        + wpfloat(CORNER) * (far(I - 1) + far(I + 1))
    )


@ff.program
def seven_points(u: Levels, out: Levels):
    """Write the Laplacian of six neighbours; `u` reaches one cell further on all sides."""
    laplacian_of_six(u, out=out)


@ff.program
def twenty_seven_points(u: Levels, out: Levels):
    """Write the Laplacian of all neighbours; `u` reaches one cell further on all sides."""
    laplacian_of_all(u, out=out)
