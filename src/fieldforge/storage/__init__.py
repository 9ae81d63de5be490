"""Counterpart of `gt4py.storage`: arrays in the layouts of GTScript's backends."""

from ..runtime.storage.allocation import empty, from_array, full, ones, zeros
from ..runtime.storage.presets import from_name, register
from . import cartesian, layout, layout_registry

__all__ = [
    "cartesian",
    "empty",
    "from_array",
    "from_name",
    "full",
    "layout",
    "layout_registry",
    "ones",
    "register",
    "zeros",
]
