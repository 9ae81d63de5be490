"""Stencils that several tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import IJ, PARALLEL, Field, computation, interval

COMPILED = "gt:cpu_kfirst"
INTERPRETED = "numpy"


def slopes(a: Field[float], b: Field[float], unused: Field[IJ, float], w: float, *, n: int = 3):
    """Differences of differences."""
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] - a
        u = t[0, 1, 0] + t
        b = w * u[-1, 0, 0]


def inner_levels(a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(1, -1):
        b = a


def added(plane: Field[IJ, float], a: Field[float], b: Field[float]):
    with computation(PARALLEL), interval(...):
        b = a + plane


def made(definition: Any, backend: str = INTERPRETED, **options: Any) -> Any:
    return gtscript.stencil(backend=backend, definition=definition, **options)


def value_of(stencil: Any, number: float = 1.0) -> float:
    """Return what a stencil with an input and an output makes of a number."""
    b = np.zeros((1, 1, 1))
    stencil(np.full((1, 1, 1), number), b)
    return b[0, 0, 0]
