"""Reduce over neighbours in slot order, skipping missing ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields.alignment import extents, view_on
from ..fields.context import table_along
from ..fields.field import make, values_of
from ..fields.neighbour_table import Connectivity
from ..language import operations
from ..language.dimension import Dimension, DimensionKind, NamedIndex
from ..language.domain import Domain
from ..process.errors import ArgumentError, EmbeddedExecutionError
from .partial import PartialField, settled
from .piecewise_field import AnyValue, Piece, assembled, at_index, cut, nothing, pieces_of


def reduced(name: str, op: str, value: Any, local: Any) -> AnyValue:
    """Combine the valid neighbours along a local dimension by `add`, `maximum` or `minimum`."""
    if not isinstance(local, Dimension) or local.kind is not DimensionKind.LOCAL:
        raise ArgumentError(f"The axis of '{name}' must be a local dimension, got '{local}'.")
    if not isinstance(value, AnyValue) or local not in value.domain.dims:
        raise ArgumentError(
            f"Expected a field with dimension '{local}' in call to '{name}', got '{value}'."
        )
    if isinstance(value, PartialField):
        lack = reduced(name, "maximum", value.lack, local)
        sure = reduced(name, "minimum", value.sure, local)
        combined = reduced(name, op, value.value, local)
        return settled(PartialField(combined, lack, sure, value.origins))
    table = table_along(local)
    slots = table.domain[local].unit_range
    rows = [own for own in table.domain if own.dim is not local and own.dim in value.domain.dims]
    if not rows and not table.valid().all():
        raise EmbeddedExecutionError(
            f"'{name}' over '{local.value}' cannot tell which neighbours are missing: the field "
            f"has no dimension '{table.domain.dims[0].value}'."
        )
    if not slots:  # a table of width 0: nothing to combine, wherever there are rows
        rest = value.domain.pop(local)
        return make(np.full(extents(rest), _of_none(op, value.dtype.dtype)), rest)
    # a row with values in some slots only has no sum
    whole = [piece for piece in pieces_of(value) if slots <= piece.box[local].unit_range]
    pieces = cut(whole, [Domain(*rows)])
    if not pieces:
        return nothing(value.domain.pop(local).dims, value.dtype.dtype, value.domain)
    return assembled([_over_slots(op, piece, table, local) for piece in pieces])


def _over_slots(op: str, piece: Piece, table: Connectivity, local: Dimension) -> Piece:
    box = piece.box.pop(local)
    own = piece.field.domain.pop(local)
    # the set of missing neighbours differs from row to row, even where values do not
    axes = Domain(*((dim, box[dim].unit_range if dim in table.dims else r) for dim, r in own))
    dtype = piece.field.dtype.dtype
    result = np.full(extents(axes), _of_none(op, dtype), dtype)
    seen: Any = np.full((1,) * axes.ndim, op == "add")
    valid, rows = table.valid(), table.domain.pop(local)
    for place, slot in enumerate(table.domain[local].unit_range):
        column = at_index(piece.field, NamedIndex(local, slot))
        values = view_on(values_of(column), column.domain, axes)
        here = view_on(valid[..., place], rows, axes) if rows.dims[0] in axes.dims else np.True_
        now = operations.apply("select", seen, operations.apply(op, result, values), values)
        result = operations.apply("select", here, now, result)
        seen = seen | here
    return Piece(box, make(result, axes))


def _of_none(op: str, dtype: np.dtype[Any]) -> Any:
    """Return the result of a reduction without valid neighbours."""
    if op == "add" or dtype.kind == "b":
        return dtype.type(op == "minimum")
    bounds: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return dtype.type(bounds.max if op == "minimum" else bounds.min)
