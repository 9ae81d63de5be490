"""Counterpart of `gt4py.next.common`: dimensions, domains, fields, connectivities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._core.definitions import DimsT, ScalarT
from .runtime.fields.field import Field, make
from .runtime.fields.neighbour_table import (
    Connectivity,
    Connectivity as NeighborTable,
    ConnectivityType,
)
from .runtime.language.annotations import Dims
from .runtime.language.connectivity import (
    CartesianConnectivity,
    GridType,
    OffsetProvider,
    is_neighbour_table as is_neighbor_table,
)
from .runtime.language.dimension import (
    Dimension,
    DimensionKind,
    NamedIndex,
    as_non_staggered,
    check_dims,
    flip_staggered,
    in_canonical_order as order_dimensions,
    is_staggered,
    promote_dims as _promoted,
)
from .runtime.language.domain import (
    Domain,
    DomainLike,
    Infinity,
    NamedRange,
    RangeLike,
    UnitRange,
    domain,
    domain_of_memory,
    named_range,
    unit_range,
)

__all__ = [
    "CartesianConnectivity",
    "Connectivity",
    "ConnectivityType",
    "Dimension",
    "DimensionKind",
    "Dims",
    "DimsT",
    "Domain",
    "DomainLike",
    "Field",
    "GridType",
    "Infinity",
    "NamedIndex",
    "NamedRange",
    "NeighborTable",
    "OffsetProvider",
    "RangeLike",
    "ScalarT",
    "UnitRange",
    "as_non_staggered",
    "check_dims",
    "domain",
    "flip_staggered",
    "is_neighbor_table",
    "is_staggered",
    "named_range",
    "order_dimensions",
    "promote_dims",
    "unit_range",
]


def promote_dims(*dims_list: Sequence[Dimension]) -> list[Dimension]:
    """Return the union of lists of dimensions in canonical order; each list must be in it.

    >>> promote_dims([Dimension("I")], [Dimension("J")])
    [Dimension('I', horizontal), Dimension('J', horizontal)]
    """
    return list(_promoted(*dims_list))


def _field(ndarray: Any, *, domain: DomainLike) -> Any:
    """Put an array on a domain without copying it."""
    return make(ndarray, domain_of_memory(domain))


def _connectivity(
    ndarray: Any, codomain: Dimension, *, domain: DomainLike, skip_value: int | None = None
) -> Connectivity:
    """Make a neighbour table of a copy of an array of indices."""
    return Connectivity(ndarray, domain_of_memory(domain), codomain, skip_value)
