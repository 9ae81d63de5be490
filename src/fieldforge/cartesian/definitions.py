"""Counterpart of `gt4py.cartesian.definitions`."""

from ..stages.gtscript.errors import GTError, GTSpecificationError, GTSyntaxError
from ..workflows.cartesian.definitions import (
    LITERAL_FLOAT_PRECISION,
    LITERAL_INT_PRECISION,
    AccessKind,
    Boundary,
    BuildOptions,
    DomainInfo,
    FieldInfo,
    ParameterInfo,
    StencilID,
    get_integer_type,
)

__all__ = [
    "LITERAL_FLOAT_PRECISION",
    "LITERAL_INT_PRECISION",
    "AccessKind",
    "Boundary",
    "BuildOptions",
    "DomainInfo",
    "FieldInfo",
    "GTError",
    "GTSpecificationError",
    "GTSyntaxError",
    "ParameterInfo",
    "StencilID",
    "get_integer_type",
]
