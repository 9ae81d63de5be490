"""Counterpart of `gt4py.next.named_collections`: tuples whose elements have names."""

from .runtime.language.collection import (
    is_collection as is_named_collection_type,
    keys_of as element_names,
)
from .runtime.language.structure import on_leaves as tree_map_named_collection

__all__ = ["element_names", "is_named_collection_type", "tree_map_named_collection"]
