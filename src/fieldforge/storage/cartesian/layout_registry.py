"""Counterpart of `gt4py.storage.cartesian.layout_registry`."""

from ...runtime.storage.presets import REGISTRY, from_name, register

__all__ = ["REGISTRY", "from_name", "register"]
