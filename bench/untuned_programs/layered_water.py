"""A step of shallow water in layers on a C grid: new depth and velocities, and the vorticity.

Vector-invariant form: depth and both velocities share the fluxes, both velocities vorticity and
energy; drag and a Laplacian slow the water. Outputs lie in centres, on western and southern faces,
and at south-western corners.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge.examples.precision import wpfloat

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Layers = ff.Field[ff.Dims[I, J, K], wpfloat]
Plane = ff.Field[ff.Dims[I, J], wpfloat]
HALO = 2


@ff.field_operator
def laplacian(x: Layers) -> Layers:
    """Five-point Laplacian."""
    return x(I + 1) + x(I - 1) + x(J + 1) + x(J - 1) - wpfloat(4.0) * x


@ff.field_operator
def fluxes(h: Layers, u: Layers, v: Layers) -> tuple[Layers, Layers]:
    """Water through western and southern faces."""
    return wpfloat(0.5) * (h + h(I - 1)) * u, wpfloat(0.5) * (h + h(J - 1)) * v


@ff.field_operator
def vorticity(h: Layers, u: Layers, v: Layers, f: Plane, per_dx: wpfloat) -> Layers:
    """Potential vorticity at south-western corners."""
    spin = (v - v(I - 1) - u + u(J - 1)) * per_dx
    return (f + spin) / (wpfloat(0.25) * (h + h(I - 1) + h(J - 1) + h(I - 1)(J - 1)))


@ff.field_operator
def head(h: Layers, u: Layers, v: Layers, bottom: Plane, g: wpfloat) -> Layers:
    """Bernoulli's function in centres."""
    energy = u * u + u(I + 1) * u(I + 1) + v * v + v(J + 1) * v(J + 1)
    return g * (h + bottom) + wpfloat(0.25) * energy


@ff.field_operator
def step(
    h: Layers, u: Layers, v: Layers, f: Plane, bottom: Plane, drag: Plane,
    per_dx: wpfloat, g: wpfloat, dt: wpfloat, nu: wpfloat,
) -> tuple[Layers, Layers, Layers, Layers]:  # fmt: skip
    """Advance depth and velocities by an explicit step."""
    west, south = fluxes(h, u, v)
    q = vorticity(h, u, v, f, per_dx)
    b = head(h, u, v, bottom, g)
    dh = (west - west(I + 1) + south - south(J + 1)) * per_dx
    south_here = wpfloat(0.25) * (
        q * (south + south(I - 1)) + q(J + 1) * (south(J + 1) + south(I - 1)(J + 1))
    )
    west_here = wpfloat(0.25) * (
        q * (west + west(J - 1)) + q(I + 1) * (west(I + 1) + west(I + 1)(J - 1))
    )
    du = south_here - (b - b(I - 1)) * per_dx - drag * u + nu * laplacian(u)
    dv = -west_here - (b - b(J - 1)) * per_dx - drag * v + nu * laplacian(v)
    return h + dt * dh, u + dt * du, v + dt * dv, q


@ff.program
def program(
    h: Layers, u: Layers, v: Layers, f: Plane, bottom: Plane, drag: Plane,
    per_dx: wpfloat, g: wpfloat, dt: wpfloat, nu: wpfloat,
    new_h: Layers, new_u: Layers, new_v: Layers, q: Layers,
    nx: ff.int32, ny: ff.int32, nz: ff.int32,
):  # fmt: skip
    """Write all layers inside the halo."""
    step(
        h, u, v, f, bottom, drag, per_dx, g, dt, nu,
        out=(new_h, new_u, new_v, q), domain={I: (0, nx), J: (0, ny), K: (0, nz)},
    )  # fmt: skip


FIELDS = {
    "h": (I, J, K), "u": (I, J, K), "v": (I, J, K), "f": (I, J), "bottom": (I, J), "drag": (I, J),
}  # fmt: skip
OUTPUTS = dict.fromkeys(("new_h", "new_u", "new_v", "q"), (I, J, K))
SCALARS = {"per_dx": 0.5, "g": 1.0, "dt": 0.1, "nu": 0.05}
RANGES = {"h": (1.0, 1.5), "drag": (0.0, 0.1)}
