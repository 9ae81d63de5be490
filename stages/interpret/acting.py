"""Evaluate scans and imperative columns level by level, all columns at once, under masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...runtime.language import operations
from ...runtime.process import classes
from ..ir.column_rows import Column, Else, Get, GetAt, If, Set, SetAt, While, ends
from ..ir.dataflow import Body, Literal, Map, Result, Scalar, Scan
from ..ir.literal import number
from .accesses import Array, Boxed, Spans, replaced, shape_of


def acted(
    column: Column,
    init: Sequence[Array],
    args: Sequence[Boxed],
    boxes: Sequence[Spans],
    levels: tuple[int, int],
) -> list[Array]:
    """Return the variables after a walk over `levels`; the box of each variable has its levels."""
    axis = column.dims.index(column.axis)
    shape = shape_of(boxes[0])
    columns = (*shape[:axis], *shape[axis + 1 :])
    arrays = []
    for first, box in zip(init, boxes, strict=True):
        whole = (*columns, shape_of(box)[axis])
        moved = np.moveaxis(first, axis, -1) if np.ndim(first) else first
        arrays.append(np.array(np.broadcast_to(moved, whole)))
    own = [box[axis] for box in boxes]
    walk = _Walk(column, ends(column.body), args, boxes[0], columns, arrays, own)
    order = range(*levels) if column.forward else range(levels[1] - 1, levels[0] - 1, -1)
    for level in order:
        walk.level = level
        walk.run(0, len(column.body), np.ones(columns, np.bool_))
    return [
        each[..., 0] if place in column.planes else np.moveaxis(each, -1, axis)
        for place, each in enumerate(arrays)
    ]


@classes.define
class _Walk:
    """The state of a walk: variables, the levels as their last axis, their levels, known rows."""

    column: Column
    ends: dict[int, int]
    args: Sequence[Boxed]
    spans: Spans
    shape: tuple[int, ...]
    arrays: list[Array]
    own: Sequence[tuple[int, int]]
    level: int = 0
    rows: dict[int, Array] = classes.field(factory=dict)

    def run(self, first: int, stop: int, mask: Array) -> None:
        """Act by some rows where the mask is true."""
        at = first
        while at < stop:
            row = self.column.body[at]
            match row:
                case While():
                    at = self._repeat(at, mask)
                case If():
                    at = self._choose(at, row, mask)
                case Set() | SetAt():
                    self._set(row, mask)
                case _:
                    self.rows[at] = self._value(at)
            at += 1

    def _choose(self, at: int, row: If, mask: Array) -> int:
        test, end = self._full(row.test), self.ends[at]
        self.run(at + 1, end, mask & test)
        if isinstance(self.column.body[end], Else):
            self.run(end + 1, self.ends[end], mask & ~test)
            return self.ends[end]
        return end

    def _repeat(self, at: int, mask: Array) -> int:
        holds = self.ends[at]
        end, row = self.ends[holds], self.column.body[holds]
        assert isinstance(row, If)  # the rules say so
        while True:
            self.run(at + 1, holds, mask)
            mask = mask & self._full(row.test)
            if not mask.any():
                return end
            self.run(holds + 1, end, mask)

    def _value(self, at: int) -> Array:
        row = self.column.body[at]
        match row:
            case Scalar():
                return self._argument(int(row.name[1:]))
            case Literal():
                return number(row.text, row.dtype)
            case Map():
                dtype = row.dtype if row.op == "cast" else None
                operands = (self.rows[arg] for arg in row.args)
                return operations.apply(row.op, *operands, dtype=dtype)
            case Get():
                return self.arrays[row.variable][..., self._place(row.variable, row.offset)].copy()
            case GetAt():
                places = self._clipped(row.variable, self._full(row.at))
                return np.take_along_axis(self.arrays[row.variable], places, -1)[..., 0]
        raise TypeError(f"The interpreter does not know '{type(row).__name__}'.")

    def _argument(self, place: int) -> Array:
        column = self.column
        here = replaced(column.dims, self.spans, {column.axis: (self.level, self.level + 1)})
        found = self.args[place].on(column.dims, here)
        axis = column.dims.index(column.axis)
        return found.take(0, axis=axis) if np.ndim(found) else found

    def _set(self, row: Set | SetAt, mask: Array) -> None:
        array, value = self.arrays[row.variable], self._full(row.value)
        low, high = self.own[row.variable]
        if isinstance(row, Set):
            level = self.level + row.offset
            if row.variable in self.column.planes or low <= level < high:
                place = self._place(row.variable, row.offset)
                array[..., place] = np.where(mask, value, array[..., place])
            return
        at = self._full(row.at)
        inside, places = mask & (at >= low) & (at < high), self._clipped(row.variable, at)
        old = np.take_along_axis(array, places, -1)
        np.put_along_axis(array, places, np.where(inside[..., None], value[..., None], old), -1)

    def _place(self, variable: int, offset: int) -> int:
        if variable in self.column.planes:
            return 0
        low, high = self.own[variable]
        return min(max(self.level + offset, low), high - 1) - low

    def _clipped(self, variable: int, at: Array) -> Array:
        low, high = self.own[variable]
        return (np.clip(at, low, high - 1) - low)[..., None]

    def _full(self, row: int) -> Array:
        return np.broadcast_to(self.rows[row], self.shape)


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
