"""Counterpart of `gt4py.storage.layout_registry`."""

from ..runtime.storage.presets import REGISTRY, from_name, register

__all__ = ["REGISTRY", "from_name", "register"]
