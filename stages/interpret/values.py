"""Compute the values of a statement in order, and where each is valid."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...runtime.language import Dimension, operations
from ...runtime.process import classes
from ..ir.column_rows import Column
from ..ir.dataflow import (
    Collect,
    Displace,
    Gather,
    Index,
    Input,
    Level,
    Literal,
    Local,
    Map,
    Neighbours,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Value,
)
from ..ir.literal import number
from ..lower import regions
from .accesses import (
    Array,
    Boxed,
    Memory,
    Spans,
    collected,
    displaced,
    gathered,
    reduced,
    replaced,
    shape_of,
    slot_of,
    view,
)
from .acting import acted, at_levels, walked
from .call import Call
from .validity import all_of, chosen, clamped, inside, on_levels, with_missing


def values_of(call: Call, boxes: dict[Ref, Spans], stored: set[Ref]) -> Done:
    """Compute rows in order; drop values that no later row needs."""
    rows = call.program.values
    last = {operand: ref for ref in boxes for operand in rows[ref].operands}
    done = Done(call, boxes)
    for ref in boxes:
        done.compute(ref)
        for operand in rows[ref].operands:
            if last[operand] == ref and operand not in stored:
                done.drop(operand)
    return done


@classes.frozen
class Done:
    """The values of a statement computed so far; for a scan, those of its state.

    `valid` says where values depend on no read outside of a field; a value that is valid everywhere
    is not in it. `exceeded` are the fields that are read outside.
    """

    call: Call
    boxes: dict[Ref, Spans]
    boxed: dict[Ref, Boxed] = classes.field(factory=dict)
    states: dict[Ref, list[Boxed]] = classes.field(factory=dict)
    valid: dict[Ref, Boxed] = classes.field(factory=dict)
    exceeded: dict[str, None] = classes.field(factory=dict)

    def compute(self, ref: Ref) -> None:
        """Compute one row."""
        value, spans = self.call.program.values[ref], self.boxes[ref]
        if isinstance(value, Scan):
            self.states[ref] = self._scan(value, spans)
        elif isinstance(value, Column):
            self.states[ref] = self._column(value, spans)
        else:
            self.boxed[ref] = Boxed(self._array(value, spans), value.dims, spans)
            valid = self._valid(value, spans)
            if valid is not None:
                self.valid[ref] = Boxed(valid, value.dims, spans)

    def beyond(self) -> str:
        """Name the fields that are read outside, each with its domain."""
        return " or ".join(map(self._domain, self.exceeded)) or "the levels of a scan"

    def _domain(self, name: str) -> str:
        field: Memory = self.call.arguments[name]
        axes = zip(field.dims, field.starts, field.shape, strict=True)
        ranges = (f"{dim.value} {start}:{start + count}" for dim, start, count in axes)
        return f"'{name}' ({', '.join(ranges)})"

    def drop(self, ref: Ref) -> None:
        """Forget a row."""
        self.valid.pop(ref, None)
        self.boxed.pop(ref, None)
        self.states.pop(ref, None)

    def _array(self, value: Value, spans: Spans) -> Array:
        match value:
            case Input():
                field = self.call.arguments[value.name]
                if inside(field, spans) is None:
                    return view(field, spans)
                self.exceeded[value.name] = None
                return clamped(field, spans)
            case Scalar():
                return np.dtype(value.dtype).type(self.call.arguments[value.name])
            case Literal():
                return number(value.text, value.dtype)
            case Index():
                return np.arange(*spans[0], dtype=np.int64)
            case Map():
                operands = (self.boxed[arg].on(value.dims, spans) for arg in value.args)
                dtype = value.dtype if value.op == "cast" else None
                return operations.apply(value.op, *operands, dtype=dtype)
            case Region():
                return self._region(value, spans, value.dtype, self.boxed)
            case Result():
                return at_levels(value, self.states[value.scan][value.index], spans)
        return self._access(value, spans, self.boxed)

    def _valid(self, value: Value, spans: Spans) -> Array | None:
        """Return where a value is valid, None for everywhere."""
        operands = [self.valid.get(each) for each in value.operands]
        match value:
            case Input():
                return inside(self.call.arguments[value.name], spans)
            case Result():
                return on_levels(value, self.states[value.scan][value.index], spans)
        if all(each is None for each in operands):
            return None
        match value:
            case Map(op="select"):
                return chosen(self.boxed[value.args[0]], operands, value.dims, spans)
            case Map():
                return all_of(operands, value.dims, spans)
        sure = self._sure(value)
        if isinstance(value, Region):
            return self._region(value, spans, "bool", sure)
        if isinstance(value, Reduce):  # the smallest validity of the valid neighbours
            least = classes.evolve(value, op="min", dtype="uint8")
            return self._access(least, spans, sure) != 0
        if isinstance(value, Collect):  # in another slot it is 0, whatever is missing
            sure = {ref: classes.evolve(each, array=~each.array) for ref, each in sure.items()}
        found = self._access(classes.evolve(value, dtype="bool"), spans, sure)
        found = found == 0 if isinstance(value, Collect) else found
        if isinstance(value, Gather | Neighbours | Collect):
            return with_missing(value, self.call.arguments[value.table], found, spans)
        return found

    def _sure(self, value: Value) -> dict[Ref, Boxed]:
        """Return the validity of the operands as values; an index is one and stays."""
        by = value.by if isinstance(value, Displace) else None
        return {
            ref: self.boxed[ref] if ref == by else self.valid.get(ref, _everywhere(self.boxed[ref]))
            for ref in value.operands
            if ref in self.boxed
        }

    def _access(self, value: Value, spans: Spans, boxed: Mapping[Ref, Boxed]) -> Array:
        match value:
            case Shift():
                axis = value.dims.index(value.onto)
                start, stop = (end + value.offset for end in spans[axis])
                arg = boxed[value.arg]
                return arg.on(arg.dims, (*spans[:axis], (start, stop), *spans[axis + 1 :]))
            case Gather() | Neighbours():
                table = self.call.walk.tables[value.table]
                given = self.call.arguments[table.name]
                return gathered(value, table, given, boxed.get(value.arg), spans)
            case Collect():
                table, slots = (self.call.walk.tables[each] for each in (value.table, value.slots))
                given = [self.call.arguments[each.name] for each in (table, slots)]
                return collected(value, table, slots, given, boxed.get(value.arg), spans)
            case Reduce():
                table = self.call.walk.tables[value.table]
                given = self.call.arguments[table.name]
                return reduced(value, table, given, boxed[value.arg], spans)
            case Local():
                arg = boxed[value.arg]
                return slot_of(arg, value.dim, value.index, value.dims, spans)
            case Level():
                arg, at = boxed[value.arg], self.call.number(value.at)
                return slot_of(arg, value.dim, at, value.dims, spans)
            case Displace():
                ends = self.call.walk.spans.of(value.arg, value.dim)
                start, stop = map(self.call.number, ends)
                arg, by = boxed[value.arg], boxed[value.by]
                return displaced(value, arg, by, spans, (start, stop))
        raise TypeError(f"The interpreter does not know '{type(value).__name__}'.")

    def _region(self, value: Region, spans: Spans, dtype: str, boxed: Mapping[Ref, Boxed]) -> Array:
        array = np.ones(shape_of(spans), dtype)  # undefined, but valid, where no branch exists
        outside = regions.without(regions.EVERYWHERE, value.boxes)
        for branch, boxes in ((value.otherwise, outside), (value.then, value.boxes)):
            for box in boxes:
                part = self._part(value.dims, spans, box)
                part = self._existing(boxed.get(branch), value.dims, part)
                if all(start < stop for start, stop in part):
                    starts = (start for start, _ in spans)
                    place = zip(part, starts, strict=True)
                    index = tuple(slice(a - start, b - start) for (a, b), start in place)
                    array[index] = boxed[branch].on(value.dims, part)
        return array

    def _existing(self, branch: Boxed | None, dims: tuple[Dimension, ...], part: Spans) -> Spans:
        """Return the part of a box on which a branch exists.

        A region may be needed on a hull of boxes, each of which it cuts by itself; and a displaced
        read of a region is led past a branch that has no value.
        """
        if branch is None:
            return ((0, 0),) * len(dims)
        own = dict(zip(branch.dims, branch.spans, strict=True))
        return tuple(
            (max(start, own[dim][0]), min(stop, own[dim][1])) if dim in own else (start, stop)
            for dim, (start, stop) in zip(dims, part, strict=True)
        )

    def _part(self, dims: tuple[Dimension, ...], spans: Spans, box: regions.Box) -> Spans:
        """Return the intersection of a box with a box of a region."""
        ends = dict(zip(dims, spans, strict=True))
        for side in box:
            start, stop = ends[side.dim]
            if side.start is not None:
                start = max(start, self.call.number(side.start))
            if side.stop is not None:
                stop = min(stop, self.call.number(side.stop))
            ends[side.dim] = (start, stop)
        return tuple(ends[dim] for dim in dims)

    def _scan(self, value: Scan, spans: Spans) -> list[Boxed]:
        levels = (self.call.number(value.start), self.call.number(value.stop))
        box = replaced(value.dims, spans, {value.axis: levels})
        first = replaced(value.dims, box, {value.axis: (levels[0], levels[0] + 1)})
        init = [self.boxed[each].on(value.dims, first) for each in value.init]
        args = value.args if levels[0] < levels[1] else ()  # without levels nothing is read
        arrays = walked(value, init, [self.boxed[arg] for arg in args], box)
        return [Boxed(array, value.dims, box) for array in arrays]

    def _column(self, value: Column, spans: Spans) -> list[Boxed]:
        boxes = [
            replaced(value.dims, spans, {value.axis: self._level(value, place)})
            for place, _ in enumerate(value.init)
        ]
        init = [
            self.boxed[each].on(value.dims, box)
            for each, box in zip(value.init, boxes, strict=True)
        ]
        levels = (self.call.number(value.start), self.call.number(value.stop))
        arrays = acted(value, init, [self.boxed[arg] for arg in value.args], boxes, levels)
        axis = value.dims.index(value.axis)
        planes = (*spans[:axis], *spans[axis + 1 :])
        return [
            Boxed(array, value.dims_of(place), planes if place in value.planes else box)
            for place, (array, box) in enumerate(zip(arrays, boxes, strict=True))
        ]

    def _level(self, column: Column, place: int) -> tuple[int, int]:
        """Return the levels of a variable; a plane has one."""
        start, stop = column.levels[place].start, column.levels[place].stop
        first = self.call.number(start)
        return first, first + 1 if place in column.planes else self.call.number(stop)


def _everywhere(value: Boxed) -> Boxed:
    """Return the validity of a value that is valid everywhere."""
    return Boxed(np.ones(shape_of(value.spans), np.bool_), value.dims, value.spans)
