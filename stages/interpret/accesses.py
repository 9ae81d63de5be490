"""Evaluate accesses to other points: neighbours, reductions, slots and displacements.

Boxed arrays: the interpreter's arrays with their dimensions and ranges of indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...runtime.language import Dimension, operations, union_of
from ...runtime.process import classes
from ..ir.dataflow import Collect, Displace, Gather, Neighbours, Reduce, Table

COMBINE = {"sum": "add", "max": "maximum", "min": "minimum"}


def rows_of(given: Any, span: tuple[int, int]) -> Any:
    """Return the rows of a neighbour table on a range of its target dimension."""
    first = given.starts[0]
    return given.asnumpy()[span[0] - first : span[1] - first]


def extreme(given: Any, end: str, start: int, stop: int, slots: tuple[int, ...] = ()) -> int:
    """Return the smallest valid entry in some rows, or one past the largest; 0 without entries.

    Only the entries of `slots` count; those of all slots if there are none.
    """
    first = given.starts[0]
    rows = slice(max(start - first, 0), max(stop - first, 0))
    place = (rows, list(slots)) if slots else rows
    valid = given.asnumpy()[place][given.valid()[place]]
    if not valid.size:
        return 0
    return int(valid.min()) if end == "lowest" else int(valid.max()) + 1


def gathered(
    value: Gather | Neighbours, table: Table, given: Any, arg: Boxed | None, spans: Spans
) -> Array:
    """Gather neighbours; at a skip value the result is undefined, but read inside the field."""
    around = dict(zip(value.dims, spans, strict=True))
    entries = rows_of(given, around[table.target])
    if isinstance(value, Gather):
        entries, new = entries[:, value.index], (table.target,)
    else:
        first, last = around[table.local]
        entries, new = entries[:, first:last], (table.target, table.local)  # type: ignore[assignment]  # one more
    if arg is None or not (entries >= 0).any():  # nothing is read: the field may end before
        return np.zeros(shape_of(spans), value.dtype)
    start, stop = arg.along(table.source)
    wanted = {dim: around.get(dim, arg.along(dim)) for dim in arg.dims}
    wanted[table.source] = (start, stop)
    array = arg.on(arg.dims, replaced(arg.dims, arg.spans, wanted))
    axis = arg.dims.index(table.source)
    places = np.clip(entries.astype(np.int64) - start, 0, stop - start - 1)
    found = array.take(places, axis=axis)
    return transposed(found, (*arg.dims[:axis], *new, *arg.dims[axis + 1 :]), value.dims)


def collected(
    value: Collect,
    table: Table,
    slots: Table,
    given: Sequence[Any],
    arg: Boxed | None,
    spans: Spans,
) -> Array:
    """Read at the points that a transposed table lists, each in the slot that goes with it."""
    entries, which = (_over_slots(value.dims, table, each, spans) for each in given)
    if arg is None or not (entries >= 0).any():
        return np.zeros(shape_of(spans), value.dtype)
    told = {table.source: entries, slots.source: which}
    index = []
    for dim in arg.dims:
        start, stop = arg.along(dim)
        places = told[dim] if dim in told else _indices(value.dims, spans, dim)
        index.append(np.clip(places - start, 0, stop - start - 1))
    found = np.broadcast_to(arg.array[tuple(index)], shape_of(spans))
    return found if value.index is None else np.where(which == value.index, found, 0)


def _over_slots(dims: tuple[Dimension, ...], table: Table, given: Any, spans: Spans) -> Any:
    """Return the entries of a table on a box, as an array with all dimensions of a value."""
    axes = [dims.index(dim) for dim in (table.target, table.local)]
    first, last = spans[axes[1]]
    entries = rows_of(given, spans[axes[0]])[:, first:last].astype(np.int64)
    shape = [1] * len(dims)
    shape[axes[0]], shape[axes[1]] = entries.shape
    return (entries if axes[0] < axes[1] else entries.T).reshape(shape)


def reduced(value: Reduce, table: Table, given: Any, arg: Boxed, spans: Spans) -> Array:
    """Reduce the slots in order, without missing neighbours."""
    kind = np.dtype(value.dtype)
    result: Any = np.full(shape_of(spans), _of_none(value.op, kind), kind)
    seen: Any = np.asarray(value.op == "sum")
    valid = _valid(value, table, given, spans)
    for slot in range(table.width):
        values = slot_of(arg, table.local, slot, value.dims, spans)
        here = True if valid is None else valid[..., slot]
        now = np.where(seen, operations.apply(COMBINE[value.op], result, values), values)
        result = np.where(here, now, result)
        seen = seen | here
    return result.astype(kind, copy=False)


def slot_of(
    arg: Boxed, local: Dimension, slot: int, dims: tuple[Dimension, ...], spans: Spans
) -> Array:
    """Return one slot of a value on a box; a value without the local dimension has equal slots."""
    if local not in arg.dims:
        return arg.on(dims, spans)
    inside = union_of((dims, (local,)))
    axis = inside.index(local)
    part = arg.on(inside, (*spans[:axis], (slot, slot + 1), *spans[axis:]))
    return part.take(0, axis=axis)


def displaced(value: Displace, arg: Boxed, by: Boxed, spans: Spans, span: tuple[int, int]) -> Array:
    """Read at displaced indices along a dimension, clamped to the range of the argument."""
    index = []
    for dim in arg.dims:
        is_moved = dim is value.dim
        places = led_to(value, by, spans, span) if is_moved else _indices(value.dims, spans, dim)
        index.append(places - arg.along(dim)[0])
    return np.broadcast_to(arg.array[tuple(index)], shape_of(spans))


def led_to(value: Displace, by: Boxed, spans: Spans, span: tuple[int, int]) -> Array:
    """Return the index that a displacement reads at each point."""
    moved = by.on(value.dims, spans).astype(np.int64, copy=False)
    with np.errstate(all="ignore"):
        return np.clip(_indices(value.dims, spans, value.dim) + moved, span[0], span[1] - 1)


def _indices(dims: tuple[Dimension, ...], spans: Spans, dim: Dimension) -> Any:
    """Return the indices along one dimension, as an axis among the others."""
    axis = dims.index(dim)
    shape = [1] * len(dims)
    shape[axis] = -1
    return np.arange(*spans[axis], dtype=np.int64).reshape(shape)


def _valid(value: Reduce, table: Table, given: Any, spans: Spans) -> Any:
    """Return the mask of valid slots, with an axis for each dimension; None if all are valid."""
    if not table.skip:
        return None
    axis = value.dims.index(table.target)
    first, (start, stop) = given.starts[0], spans[axis]
    rows = given.valid()[start - first : stop - first]
    shape = [1] * len(value.dims)
    shape[axis] = len(rows)
    return rows.reshape(*shape, rows.shape[1])


def _of_none(op: str, dtype: np.dtype[Any]) -> Any:
    """Return the result of a reduction without a valid slot."""
    if op == "sum":
        return dtype.type(0)
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return dtype.type(limits.max if op == "min" else limits.min)


Array: TypeAlias = Any  # a NumPy array, or a NumPy scalar without dimensions
Spans: TypeAlias = tuple[tuple[int, int], ...]  # start and stop along each dimension
Dims: TypeAlias = tuple[Dimension, ...]


class Memory(Protocol):
    """The protocol of a field for the interpreter."""

    @property
    def ndarray(self) -> Any:
        """The live array."""

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions of its axes."""

    @property
    def starts(self) -> tuple[int, ...]:
        """The first index along each axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices along each axis."""


@classes.frozen(eq=False)
class Boxed:
    """An array over dimensions, on a box; a scalar has none."""

    array: Array
    dims: Dims
    spans: Spans

    def on(self, dims: Dims, spans: Spans) -> Array:
        """Return the part on `spans`, with an axis of extent 1 for each dimension that it lacks."""
        if not self.dims:
            return self.array
        starts = {dim: start for dim, (start, _) in zip(self.dims, self.spans, strict=True)}
        index = tuple(
            slice(start - starts[dim], stop - starts[dim]) if dim in starts else np.newaxis
            for dim, (start, stop) in zip(dims, spans, strict=True)
        )
        return self.array[index]

    def along(self, dim: Dimension) -> tuple[int, int]:
        """Return start and stop along one of its dimensions."""
        return self.spans[self.dims.index(dim)]


def view(field: Memory, spans: Spans) -> Array:
    """Return a view of a field on a box inside it."""
    index = tuple(
        slice(start - first, stop - first)
        for (start, stop), first in zip(spans, field.starts, strict=True)
    )
    return field.ndarray[(*index, ...)]


def shape_of(spans: Spans) -> tuple[int, ...]:
    """Return the shape of an array on a box."""
    return tuple(max(stop - start, 0) for start, stop in spans)


def replaced(dims: Dims, spans: Spans, new: dict[Dimension, tuple[int, int]]) -> Spans:
    """Return a box with other ranges along some of its dimensions."""
    return tuple(new.get(dim, span) for dim, span in zip(dims, spans, strict=True))


def transposed(array: Array, dims: Sequence[Dimension], order: Sequence[Dimension]) -> Array:
    """Return an array with its axes in another order."""
    return np.transpose(array, [dims.index(dim) for dim in order])
