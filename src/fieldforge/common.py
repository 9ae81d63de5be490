"""What `gt4py.next.common` offers: dimensions, domains, fields, connectivities."""

from __future__ import annotations

from typing import Any

from ._core.definitions import DimsT, ScalarT
from .runtime.annotations import Dims
from .runtime.connectivity import CartesianConnectivity, GridType, OffsetProvider
from .runtime.dimension import (
    Dimension,
    DimensionKind,
    NamedIndex,
    as_non_staggered,
    flip_staggered,
    is_staggered,
    promote_dims,
)
from .runtime.domain import (
    Domain,
    DomainLike,
    Infinity,
    NamedRange,
    RangeLike,
    UnitRange,
    domain,
    named_range,
    unit_range,
)
from .runtime.field import Field, make

__all__ = [
    "CartesianConnectivity",
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
    "OffsetProvider",
    "RangeLike",
    "ScalarT",
    "UnitRange",
    "as_non_staggered",
    "domain",
    "flip_staggered",
    "is_staggered",
    "named_range",
    "promote_dims",
    "unit_range",
]


def _field(ndarray: Any, *, domain: Any) -> Any:
    """Put an array on a domain without copying it."""
    return make(ndarray, globals()["domain"](domain))
