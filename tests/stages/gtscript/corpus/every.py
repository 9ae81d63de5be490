"""A corpus of stencils as models of weather and climate have them, with one call of each."""

from . import (
    cloud,
    convection,
    dynamics,
    levels,
    microphysics,
    physics,
    precipitation,
    turbulence,
)
from .adding import CORPUS

__all__ = [
    "CORPUS",
    "cloud",
    "convection",
    "dynamics",
    "levels",
    "microphysics",
    "physics",
    "precipitation",
    "turbulence",
]
