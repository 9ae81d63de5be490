"""Horizontal diffusion of the dynamical cores: fourth order, with a flux limiter."""

from __future__ import annotations

import fieldforge as ff
from fieldforge import where
from fieldforge.examples.precision import wpfloat

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]

HALO = 2


@ff.field_operator
def laplacian(u: Levels) -> Levels:
    """Second difference on the horizontal plane, negative: 4 u minus its neighbours."""
    return wpfloat(4.0) * u - (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1))


@ff.field_operator
def flux_i(u: Levels, lap: Levels) -> Levels:
    """Limited flux through the face at i + 1/2."""
    flux = lap(I + 1) - lap
    return where(flux * (u(I + 1) - u) > wpfloat(0.0), wpfloat(0.0), flux)


@ff.field_operator
def flux_j(u: Levels, lap: Levels) -> Levels:
    """Limited flux through the face at j + 1/2."""
    flux = lap(J + 1) - lap
    return where(flux * (u(J + 1) - u) > wpfloat(0.0), wpfloat(0.0), flux)


@ff.field_operator
def diffused(u: Levels, coeff: Levels) -> Levels:
    """Return u minus the divergence of the limited fluxes."""
    lap = laplacian(u)
    flx = flux_i(u, lap)
    fly = flux_j(u, lap)
    return u - coeff * (flx - flx(I - 1) + fly - fly(J - 1))


@ff.program
def diffuse(u: Levels, coeff: Levels, out: Levels):
    """Write the diffused `u` over the whole domain of `out`; `u` needs a halo of two cells."""
    diffused(u, coeff, out=out)
