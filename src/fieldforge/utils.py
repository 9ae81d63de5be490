"""What models use of `gt4py.next.utils`."""

from .runtime.language.structure import tree_map

__all__ = ["tree_map"]
