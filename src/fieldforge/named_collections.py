"""What models use of `gt4py.next.named_collections`: tuples whose elements have names."""

from .runtime.language.collection import is_collection as is_named_collection_type
from .runtime.language.collection import keys_of as element_names

__all__ = ["element_names", "is_named_collection_type"]
