"""Counterpart of `gt4py.cartesian.gtc`, as far as clients name it."""

from . import passes

__all__ = ["passes"]
