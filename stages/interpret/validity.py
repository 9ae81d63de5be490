"""Validity of values: which points of them follow from reads inside the fields.

A read that reaches a store only through one side of `where` may lead out of a field. It takes the
nearest element, and the point is not valid. Validity is a value over the same box: that of an
operation is the conjunction of its operands', that of `where` follows the side that the mask takes.
None stands for validity everywhere, so programs that stay inside their fields compute nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...runtime.process import IndexOutOfBounds
from ..ir.dataflow import Collect, Gather, Neighbours, Result
from .accesses import Array, Boxed, Dims, Memory, Spans, rows_of, shape_of


def inside(field: Memory, spans: Spans) -> Array | None:
    """Return which points of a box lie in a field; None for all of them."""
    result: Any = None
    for axis, (span, first, count) in enumerate(zip(spans, field.starts, field.shape, strict=True)):
        if span[0] < first or span[1] > first + count:
            index = np.arange(*span)
            shape = [-1 if axis == other else 1 for other in range(len(spans))]
            here = ((index >= first) & (index < first + count)).reshape(shape)
            result = here if result is None else result & here
    return None if result is None else np.broadcast_to(result, shape_of(spans))


def clamped(field: Memory, spans: Spans) -> Array:
    """Return a field on a box; points outside the field take the nearest element."""
    places = [
        np.clip(np.arange(*span), first, first + count - 1) - first
        for span, first, count in zip(spans, field.starts, field.shape, strict=True)
    ]
    return field.ndarray[np.ix_(*places)]


def all_of(operands: Iterable[Boxed | None], dims: Dims, spans: Spans) -> Array | None:
    """Return where all operands are valid."""
    result: Any = None
    for operand in operands:
        if operand is not None:
            here = operand.on(dims, spans)
            result = here if result is None else result & here
    return None if result is None else np.broadcast_to(result, shape_of(spans))


def chosen(mask: Boxed, operands: Sequence[Boxed | None], dims: Dims, spans: Spans) -> Array | None:
    """Return where `where` takes a valid value by a valid mask."""
    if all(operand is None for operand in operands):
        return None
    sure = Boxed(np.True_, (), ())
    which, then, otherwise = ((each or sure).on(dims, spans) for each in operands)
    result = which & np.where(mask.on(dims, spans), then, otherwise)
    return np.broadcast_to(result, shape_of(spans))


def with_missing(
    value: Gather | Neighbours | Collect, given: Any, valid: Array, spans: Spans
) -> Array:
    """Let missing neighbours be valid: their value is undefined in any case."""
    axis = next(i for i, dim in enumerate(value.dims) if dim is given.dims[0])
    missing = rows_of(given, spans[axis]) < 0
    if isinstance(value, Gather):
        shape = [-1 if axis == other else 1 for other in range(len(spans))]
        return valid | missing[:, value.index].reshape(shape)
    slots = value.dims.index(given.dims[1])
    first, last = spans[slots]
    shape = [1] * len(spans)
    shape[axis], shape[slots] = -1, last - first
    part = missing[:, first:last]
    return valid | (part if axis < slots else part.T).reshape(shape)


def on_levels(value: Result, leaf: Boxed, spans: Spans) -> Array | None:
    """Return which points lie on the levels that a scan has walked."""
    found: Any = None
    for axis, ((start, stop), own) in enumerate(zip(spans, leaf.spans, strict=True)):
        if start < own[0] or stop > own[1]:
            index = np.arange(start, stop)
            shape = [-1 if axis == other else 1 for other in range(len(value.dims))]
            here = ((index >= own[0]) & (index < own[1])).reshape(shape)
            found = here if found is None else found & here
    return None if found is None else np.broadcast_to(found, shape_of(spans))


def check_valid(target: str, valid: Boxed | None, box: Dims, spans: Spans, reads: str) -> None:
    """Refuse to store a value that depends on a read outside of a field."""
    if valid is None:
        return
    here = np.broadcast_to(valid.on(box, spans), shape_of(spans))
    if here.all():
        return
    place = np.unravel_index(int(here.argmin()), here.shape)
    index = ", ".join(
        f"{dim.value}={start + int(at)}"
        for dim, (start, _), at in zip(box, spans, place, strict=True)
    )
    raise IndexOutOfBounds(
        f"'{target}' takes a missing value at {index or 'its only point'}: 'where' selects "
        f"what is read outside of {reads}.",
        hints=("Let the mask select the other side there, or pass larger fields.",),
    )
