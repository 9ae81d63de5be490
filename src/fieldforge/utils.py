"""Counterpart of `gt4py.next.utils`, as far as models use it."""

from .runtime.language.structure import tree_map

__all__ = ["tree_map"]
