"""Counterpart of `gt4py.eve.utils`, as far as models use it."""

from ..runtime.language.namespace import FrozenNamespace

__all__ = ["FrozenNamespace"]
