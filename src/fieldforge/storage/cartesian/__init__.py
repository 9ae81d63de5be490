"""Counterpart of `gt4py.storage.cartesian`."""

from . import interface, layout, layout_registry, utils

__all__ = ["interface", "layout", "layout_registry", "utils"]
