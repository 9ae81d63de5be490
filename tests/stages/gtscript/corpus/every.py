"""A corpus of stencils as models of weather and climate have them, with one call of each."""

from . import cloud, convection, dynamics, physics, precipitation
from .adding import CORPUS

__all__ = ["CORPUS", "cloud", "convection", "dynamics", "physics", "precipitation"]
