"""Fields along the slots of a neighbour table, laid out as the transposed table lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..fields import SKIP, Field, make
from ..language import Dimension, FieldOffset, domain, in_canonical_order
from ..process import ArgumentError, DeviceType, MissingOffsetError
from .transposed_tables import table_in, transposed_names, transposed_slots


def transposed_dims(offset: FieldOffset, dims: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """Return the dimensions of a transposed field, from those of the field.

    >>> from fieldforge.runtime.language import DimensionKind
    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = FieldOffset("E2V", source=V, target=(E, Dimension("E2VDim", DimensionKind.LOCAL)))
    >>> [dim.value for dim in transposed_dims(E2V, E2V.target)]
    ['V', 'E2V_t']
    """
    kept = (dim for dim in dims if dim not in offset.target)
    return tuple(in_canonical_order((*kept, offset.source, transposed_slots(offset.value))))


def transposed_field(
    field: Field, offset: FieldOffset, offset_provider: Mapping[str, Any]
) -> Field:
    """Return the values of a field where the transposed table has their rows and slots.

    An adjoint with `transposed={...}` takes it for a field that never changes, such as weights of
    a mesh. It lies where the field lies, and is 0 where the table lists nothing.

    Args:
        field: has a value for each slot of the table, and may have levels.
        offset: the offset of the table.
        offset_provider: has the table.

    Raises:
        ArgumentError: the field has no slots of the table.
        MissingOffsetError: the offset provider has no such table.

    >>> import fieldforge as ff
    >>> E, V = ff.Dimension("E"), ff.Dimension("V")
    >>> slots = ff.Dimension("E2VDim", ff.DimensionKind.LOCAL)
    >>> E2V = ff.FieldOffset("E2V", source=V, target=(E, slots))
    >>> table = ff.as_connectivity(E2V.target, V, [[0, 1], [1, 2]])
    >>> weights = ff.as_field(E2V.target, [[1.0, 2.0], [3.0, 4.0]])
    >>> ff.transposed_field(weights, E2V, {"E2V": table}).asnumpy().tolist()
    [[1.0, 0.0], [2.0, 3.0], [4.0, 0.0]]
    """
    if offset.is_cartesian or not set(offset.target) <= set(field.dims):
        dims = ", ".join(dim.value for dim in field.dims)
        raise ArgumentError(
            f"Expected a field with the slots of '{offset.value}', got one on ({dims}).",
            hint=f"It needs the dimensions {' and '.join(dim.value for dim in offset.target)}.",
        )
    tables = [table_in(offset_provider, name) for name in transposed_names([offset.value])]
    if None in tables:
        raise MissingOffsetError.of(offset.value, offset_provider)
    rows, slots = (table.asnumpy() for table in tables)
    axes = [field.dims.index(dim) for dim in offset.target]
    values = np.moveaxis(field.asnumpy(), axes, (0, 1))
    at, slot = rows - field.starts[axes[0]], slots - field.starts[axes[1]]
    is_there = (rows != SKIP) & (at >= 0) & (at < len(values))
    is_there &= (slot >= 0) & (slot < values.shape[1])
    # rows are columns in memory, as those of the table are
    found = np.zeros((*rows.shape[::-1], *values.shape[2:]), values.dtype).swapaxes(0, 1)
    found[is_there] = values[at[is_there], slot[is_there]]
    return _placed(found, field, offset)


def _placed(values: np.ndarray[Any, Any], field: Field, offset: FieldOffset) -> Field:
    """Return a field of values along source, slots and the other dimensions of a field."""
    others = [each for each in field.domain if each.dim not in offset.target]
    given = transposed_dims(offset, offset.target) + tuple(each.dim for each in others)
    sizes = dict(zip(given, values.shape, strict=True))
    ranges: dict[Dimension, Any] = {dim: (0, size) for dim, size in sizes.items()}
    ranges |= {each.dim: each.unit_range for each in others}
    dims = transposed_dims(offset, field.dims)
    box = domain({dim: ranges[dim] for dim in dims})
    array = values.transpose([given.index(dim) for dim in dims])
    if field.device_type == DeviceType.CPU:
        return cast(Field, make(array, box))
    from ..fields.allocators.device import copied_as_it_lies  # a process without a GPU needs none

    return cast(Field, make(copied_as_it_lies(array, field.ndarray), box))
