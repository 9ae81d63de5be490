"""All Cartesian programs and column programs."""

from __future__ import annotations

from collections.abc import Callable

from . import (
    diffusion,
    laplacians,
    precipitation,
    saturation_adjustment,
    tridiagonal,
    vertical_advection,
)
from .case import Case

CASES: tuple[Callable[[str, float], Case], ...] = (
    *diffusion.CASES,
    *laplacians.CASES,
    *vertical_advection.CASES,
    *tridiagonal.CASES,
    *saturation_adjustment.CASES,
    *precipitation.CASES,
)
