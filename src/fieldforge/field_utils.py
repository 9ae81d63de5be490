"""Counterpart of `gt4py.next.field_utils`."""

from __future__ import annotations

from typing import Any

from .runtime.fields.field import Field
from .runtime.language.structure import map_leaves

__all__ = ["asnumpy"]


def asnumpy(value: Any) -> Any:
    """Return fields as NumPy arrays, in tuples and collections too; anything else as it is.

    >>> import fieldforge as ff
    >>> asnumpy((ff.ones({ff.Dimension("I"): 2}), 3))
    (array([1., 1.]), 3)
    """
    return map_leaves(lambda leaf: leaf.asnumpy() if isinstance(leaf, Field) else leaf, value)
