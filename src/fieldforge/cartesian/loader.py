"""Counterpart of `gt4py.cartesian.loader`."""

from ..workflows.cartesian.loading import gtscript_loader, load_stencil

__all__ = ["gtscript_loader", "load_stencil"]
