"""Dimensions: the named axes of fields, their staggered counterparts and canonical order.

`I(3)` is an index, `I + 1` a shift, `I < 3` a domain; `axes` defines these types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..process import DomainError
from .axes import (
    STAGGERED,
    SUFFIX,
    Dimension,
    DimensionKind,
    NamedIndex,
    as_non_staggered,
    axis_name,
    flip_staggered,
    in_canonical_order,
    is_staggered,
)

__all__ = [
    "STAGGERED",
    "SUFFIX",
    "Dimension",
    "DimensionKind",
    "NamedIndex",
    "as_non_staggered",
    "axis_name",
    "check_dims",
    "flip_staggered",
    "in_canonical_order",
    "is_staggered",
    "promote_dims",
    "union_of",
]


def check_dims(dims: Sequence[Dimension]) -> None:
    """Refuse dimensions that no field type can have; `dims` must be in canonical order."""
    expected = in_canonical_order(dims)
    if len(expected) != len(dims):
        raise DomainError(f"Dimensions '{_names(dims)}' name a dimension twice.")
    if sum(dim.kind is DimensionKind.LOCAL for dim in dims) > 1:
        raise DomainError(f"Dimensions '{_names(dims)}' hold more than one local dimension.")
    if len({as_non_staggered(dim) for dim in dims}) != len(dims):
        raise DomainError(
            f"Dimensions '{_names(dims)}' hold a dimension and its staggered counterpart."
        )
    if expected != tuple(dims):
        raise DomainError(
            f"Dimensions '{_names(dims)}' are not ordered correctly, expected '{_names(expected)}'."
        )


def promote_dims(*dims_list: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """Return the union of lists of dimensions in canonical order; each list must be in it.

    >>> I, J, K = Dimension("I"), Dimension("J"), Dimension("K", DimensionKind.VERTICAL)
    >>> [dim.value for dim in promote_dims((I, K), (J, K))]
    ['I', 'J', 'K']
    """
    return _promote(tuple(map(tuple, dims_list)))


@lru_cache(maxsize=4096)
def _promote(dims_list: tuple[tuple[Dimension, ...], ...]) -> tuple[Dimension, ...]:
    for dims in dims_list:
        check_dims(dims)
    union = union_of(dims_list)
    check_dims(union)
    return union


def union_of(lists: Iterable[tuple[Dimension, ...]]) -> tuple[Dimension, ...]:
    """Return the dimensions of lists in canonical order, also where no field type can have them.

    Each list must be in that order.

    >>> I, K = Dimension("I"), Dimension("K", "vertical")
    >>> [dim.value for dim in union_of([(K,), (I, K)])]
    ['I', 'K']
    """
    return _union(tuple(lists))


@lru_cache(maxsize=4096)
def _union(lists: tuple[tuple[Dimension, ...], ...]) -> tuple[Dimension, ...]:
    longest: tuple[Dimension, ...] = ()
    for dims in lists:
        if dims != longest and not set(dims) <= set(longest):
            longest = in_canonical_order((*longest, *dims)) if longest else dims
    return longest


def _names(dims: Iterable[Dimension]) -> str:
    return ", ".join(map(str, dims))
