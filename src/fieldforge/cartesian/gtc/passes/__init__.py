"""Counterpart of `gt4py.cartesian.gtc.passes`."""

from . import oir_pipeline
from .oir_pipeline import DefaultPipeline, OirPipeline

__all__ = ["DefaultPipeline", "OirPipeline", "oir_pipeline"]
