"""Tridiagonal systems, one for each column: elimination downwards, substitution upwards.

The method of Thomas (1949), "Elliptic problems in linear difference equations over a network",
Watson Scientific Computing Laboratory. It needs no pivoting where the matrix is diagonally
dominant, which the implicit treatment of vertical exchange makes sure of.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge.examples.precision import wpfloat

I = ff.Dimension("I")
J = ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], wpfloat]


@ff.scan_operator(axis=K, forward=True, init=(wpfloat(0.0), wpfloat(0.0)))
def eliminated(
    above: tuple[wpfloat, wpfloat], a: wpfloat, b: wpfloat, c: wpfloat, d: wpfloat
) -> tuple[wpfloat, wpfloat]:
    """Remove the lower diagonal: what is left of row k is x(k) + cp x(k + 1) = dp."""
    cp, dp = above
    pivot = b - a * cp
    return c / pivot, (d - a * dp) / pivot


@ff.scan_operator(axis=K, forward=False, init=wpfloat(0.0))
def substituted(below: wpfloat, cp: wpfloat, dp: wpfloat) -> wpfloat:
    """Go back up: each unknown follows from the one below."""
    return dp - cp * below


@ff.field_operator
def solution(a: Levels, b: Levels, c: Levels, d: Levels) -> Levels:
    """Return x of a(k) x(k - 1) + b(k) x(k) + c(k) x(k + 1) = d(k)."""
    cp, dp = eliminated(a, b, c, d)
    return substituted(cp, dp)


@ff.program
def solve(a: Levels, b: Levels, c: Levels, d: Levels, x: Levels):
    """Solve the system of every column of `x`; `a` of the first and `c` of the last level are 0."""
    solution(a, b, c, d, out=x)
