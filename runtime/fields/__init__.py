"""Fields and neighbour tables: arrays with a domain, how they are made, indexed and shifted."""

from .alignment import extents, first, is_same_array, overlaps_itself, reordered, view_on
from .allocation import copy_in, fill
from .constructors import as_connectivity, as_field, empty, from_xarray, full, ones, zeros
from .context import active, levels_along, running, table_along, tables
from .field import (
    ActiveField,
    ActiveNumber,
    AnyField,
    Field,
    UnboundedField,
    make,
    restricted,
    values_of,
)
from .layout import ALIGNMENT, aligned_memory, memory_order, padded_strides
from .neighbour_table import SKIP, Connectivity, ConnectivityType, beyond
from .operators import Operators, combined, common_dtype, converted
from .premap import check_codomain, replaced, resolved, shifted

__all__ = [
    "ALIGNMENT",
    "SKIP",
    "ActiveField",
    "ActiveNumber",
    "AnyField",
    "Connectivity",
    "ConnectivityType",
    "Field",
    "Operators",
    "UnboundedField",
    "active",
    "aligned_memory",
    "as_connectivity",
    "as_field",
    "beyond",
    "check_codomain",
    "combined",
    "common_dtype",
    "converted",
    "copy_in",
    "empty",
    "extents",
    "fill",
    "first",
    "from_xarray",
    "full",
    "is_same_array",
    "levels_along",
    "make",
    "memory_order",
    "ones",
    "overlaps_itself",
    "padded_strides",
    "reordered",
    "replaced",
    "resolved",
    "restricted",
    "running",
    "shifted",
    "table_along",
    "tables",
    "values_of",
    "view_on",
    "zeros",
]
