"""Evaluate scans level by level, all columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...runtime.language import operations
from ..ir.dataflow import Body, Literal, Map, Result, Scalar, Scan
from ..ir.literal import number
from .accesses import Array, Boxed, Spans, replaced, shape_of


def walked(scan: Scan, init: Sequence[Array], args: Sequence[Boxed], spans: Spans) -> list[Array]:
    """Scan the levels of `spans` and return the leaves of the state at each."""
    axis = scan.dims.index(scan.axis)
    start, stop = spans[axis]
    state = list(init)
    levels = [np.empty(shape_of(spans), each.dtype) for each in state]
    order = range(start, stop) if scan.forward else range(stop - 1, start - 1, -1)
    for level in order:
        here = replaced(scan.dims, spans, {scan.axis: (level, level + 1)})
        state = _step(scan.body, state, [arg.on(scan.dims, here) for arg in args])
        place = (*[slice(None)] * axis, slice(level - start, level - start + 1))
        for array, now in zip(levels, state, strict=True):
            array[place] = now
    return levels


def at_levels(result: Result, leaf: Boxed, spans: Spans) -> Array:
    """Return a leaf of the state on a box; it is undefined on levels outside the scan."""
    kept = tuple(
        (max(a, start), max(min(b, stop), a, start))
        for (a, b), (start, stop) in zip(spans, leaf.spans, strict=True)
    )
    if kept == spans:
        return leaf.on(result.dims, spans)
    array = np.zeros(shape_of(spans), result.dtype)
    place = tuple(
        slice(a - start, b - start) for (a, b), (start, _) in zip(kept, spans, strict=True)
    )
    array[place] = leaf.on(result.dims, kept)
    return array


def _step(body: Body, state: Sequence[Array], args: Sequence[Array]) -> list[Array]:
    known = {f"s{index}": array for index, array in enumerate(state)}
    known |= {f"a{index}": array for index, array in enumerate(args)}
    rows: list[Array] = []
    for value in body.values:
        match value:
            case Scalar():
                rows.append(known[value.name])
            case Literal():
                rows.append(number(value.text, value.dtype))
            case Map():
                dtype = value.dtype if value.op == "cast" else None
                operands = (rows[arg] for arg in value.args)
                rows.append(operations.apply(value.op, *operands, dtype=dtype))
    return [rows[each] for each in body.results]
