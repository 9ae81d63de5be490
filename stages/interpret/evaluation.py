"""Run dataflow with NumPy, each value exactly on the box that needs it: the oracle.

For each statement the boxes of its stores become numbers, and the walk of `infer_boxes` gives the
box of each value that they need. The interpreter computes and reads nothing else. A store with an
empty box needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, TypeAlias

import attrs
import numpy as np

from ...runtime.calls.refusals import too_small
from ...runtime.fields.alignment import is_same_array
from ...runtime.language import operations
from ...runtime.language.dimension import Dimension
from ...runtime.process.errors import OverlapError
from ..artifacts import Lowered
from ..ir.bounds import (
    Bound,
    Const,
    DomainSymbol,
    Range,
    Ranges,
    ScalarSymbol,
    Symbol,
    TableBound,
    evaluate,
)
from ..ir.dataflow import (
    Dataflow,
    Displace,
    Gather,
    Input,
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
    Statement,
    Store,
    Value,
)
from ..ir.literal import number
from ..lower import regions
from ..lower.areas import Area, Areas
from ..lower.infer_boxes import Walk
from .accesses import displaced, extreme, gathered, reduced, slot_of
from .boxed import Array, Boxed, Memory, Spans, replaced, shape_of, view
from .columns import at_levels, walked

Arguments: TypeAlias = Mapping[str, Any]


def interpret(lowered: Lowered, arguments: Arguments) -> None:
    """Run a program on fields, scalars and tables, given by the names of leaves and tables."""
    call = Call.of(lowered.program, arguments)
    for statement in lowered.program.statements:
        stores = list(call.live(statement))
        _check_overlap(stores, arguments)
        boxes = call.needed(stores)
        values = _evaluate(call, boxes, {store.value for store, _ in stores})
        results = []
        for store, spans in stores:
            dims = tuple(each.dim for each in store.box)
            result = values[store.value].on(dims, spans)
            # compute all values before the first store; a single assignment copies by itself
            results.append(np.array(result) if len(stores) > 1 else result)
        for (store, spans), result in zip(stores, results, strict=True):
            view(arguments[store.target], spans)[...] = result


def _check_overlap(stores: list[tuple[Store, Spans]], arguments: Arguments) -> None:
    """Refuse stores of one statement to memory that they share, unless it is one and the same."""
    for (one, spans), (other, theirs) in combinations(stores, 2):
        first, second = view(arguments[one.target], spans), view(arguments[other.target], theirs)
        if spans == theirs and is_same_array(first, second):
            continue
        if np.shares_memory(first, second):
            raise OverlapError(
                f"Arguments '{one.target}' and '{other.target}' are written by one statement and "
                "share memory."
            )


def check_ranges(program: Dataflow, statement: Statement, arguments: Arguments) -> None:
    """Check that a statement writes and reads inside its fields and tables."""
    call = Call.of(program, arguments)
    stores = list(call.live(statement))
    for store, spans in stores:
        dims = tuple(each.dim for each in store.box)
        _check(store.target, "writes", dims, spans, arguments[store.target])
    boxes = call.needed(stores)
    for ref, spans in boxes.items():
        value = program.values[ref]
        if isinstance(value, Input):
            _check(value.name, "reads", value.dims, spans, arguments[value.name])
        elif isinstance(value, Gather | Neighbours | Reduce):
            table = call.walk.tables[value.table]
            if table.skip or not isinstance(value, Reduce):
                rows = spans[value.dims.index(table.target)]
                _check(table.name, "reads", (table.target,), (rows,), arguments[table.name])


def _check(name: str, done: str, dims: tuple[Dimension, ...], spans: Spans, field: Memory) -> None:
    given = zip(field.starts, field.shape, strict=False)
    for dim, (start, stop), (first, count) in zip(dims, spans, given, strict=False):
        if start < first or stop > first + count:
            raise too_small(name, dim, done, (start, stop), (first, first + count))


@attrs.frozen
class Call:
    """A program with the arguments of one call, which give numbers to all symbols."""

    program: Dataflow
    arguments: Arguments
    walk: Walk

    @classmethod
    def of(cls, program: Dataflow, arguments: Arguments) -> Call:
        """Start a call."""
        known: dict[Bound, Bound] = {}

        def resolve(bound: Bound) -> Bound:
            if bound not in known:
                known[bound] = Const(evaluate(bound, value_of))
            return known[bound]

        def value_of(symbol: Symbol) -> int:
            return _value_of(symbol, arguments)

        return cls(program, arguments, Walk.of(program, Areas(resolve)))

    def number(self, bound: Bound) -> int:
        """Return the integer value of a bound."""
        found = self.walk.areas.resolve(bound)
        assert isinstance(found, Const)  # a call resolves every symbol
        return found.value

    def live(self, statement: Statement) -> Iterator[tuple[Store, Spans]]:
        """Yield the stores whose box is not empty, with their boxes as numbers."""
        for store in statement.stores:
            spans = tuple((self.number(r.start), self.number(r.stop)) for r in store.box)
            if all(start < stop for start, stop in spans):
                yield store, spans

    def needed(self, stores: list[tuple[Store, Spans]]) -> dict[Ref, Spans]:
        """Return the box of each value that these stores need, in the order of the rows."""
        areas = self.walk.areas
        seeds = [(s.value, areas.number(Area(_constant(s.box, spans)))) for s, spans in stores]
        return {
            ref: tuple(map(_ends, areas.of(self.program.values[ref].dims, need)))
            for ref, need in self.walk.from_seeds(seeds).items()
            if need
        }


def _value_of(symbol: Symbol, arguments: Arguments) -> int:
    match symbol:
        case ScalarSymbol():
            return int(arguments[symbol.name])
        case TableBound():
            start, stop = (int(str(each)) for each in (symbol.start, symbol.stop))
            return extreme(arguments[symbol.table], symbol.end, start, stop, symbol.slots)
        case DomainSymbol():
            field: Memory = arguments[symbol.field]
            axis = field.dims.index(symbol.dim)
            return int(field.starts[axis] + (field.shape[axis] if symbol.end == "stop" else 0))


def _constant(box: Ranges, spans: Spans) -> Ranges:
    return tuple(
        Range(each.dim, Const(start), Const(stop))
        for each, (start, stop) in zip(box, spans, strict=True)
    )


def _ends(each: Range) -> tuple[int, int]:
    assert isinstance(each.start, Const)
    assert isinstance(each.stop, Const)
    return each.start.value, each.stop.value


def _evaluate(call: Call, boxes: dict[Ref, Spans], stored: set[Ref]) -> dict[Ref, Boxed]:
    """Compute rows in order; drop values that no later row needs."""
    values = call.program.values
    last = {operand: ref for ref in boxes for operand in values[ref].operands}
    done = Done(call, boxes)
    for ref in boxes:
        done.compute(ref)
        for operand in values[ref].operands:
            if last[operand] == ref and operand not in stored:
                done.drop(operand)
    return done.boxed


@attrs.frozen
class Done:
    """The values of a statement computed so far; for a scan, those of its state."""

    call: Call
    boxes: dict[Ref, Spans]
    boxed: dict[Ref, Boxed] = attrs.field(factory=dict)
    states: dict[Ref, list[Boxed]] = attrs.field(factory=dict)

    def compute(self, ref: Ref) -> None:
        """Compute one row."""
        value, spans = self.call.program.values[ref], self.boxes[ref]
        if isinstance(value, Scan):
            self.states[ref] = self._scan(value, spans)
        else:
            self.boxed[ref] = Boxed(self._array(value, spans), value.dims, spans)

    def drop(self, ref: Ref) -> None:
        """Forget a row."""
        self.boxed.pop(ref, None)
        self.states.pop(ref, None)

    def _array(self, value: Value, spans: Spans) -> Array:
        match value:
            case Input():
                return view(self.call.arguments[value.name], spans)
            case Scalar():
                return np.dtype(value.dtype).type(self.call.arguments[value.name])
            case Literal():
                return number(value.text, value.dtype)
            case Map():
                operands = (self.boxed[arg].on(value.dims, spans) for arg in value.args)
                dtype = value.dtype if value.op == "cast" else None
                return operations.apply(value.op, *operands, dtype=dtype)
            case Region():
                return self._region(value, spans)
            case Result():
                return at_levels(value, self.states[value.scan][value.index], spans)
        return self._access(value, spans)

    def _access(self, value: Value, spans: Spans) -> Array:
        match value:
            case Shift():
                axis = value.dims.index(value.onto)
                start, stop = (end + value.offset for end in spans[axis])
                arg = self.boxed[value.arg]
                return arg.on(arg.dims, (*spans[:axis], (start, stop), *spans[axis + 1 :]))
            case Gather() | Neighbours():
                table = self.call.walk.tables[value.table]
                given = self.call.arguments[table.name]
                return gathered(value, table, given, self.boxed.get(value.arg), spans)
            case Reduce():
                table = self.call.walk.tables[value.table]
                given = self.call.arguments[table.name]
                return reduced(value, table, given, self.boxed[value.arg], spans)
            case Local():
                arg = self.boxed[value.arg]
                return slot_of(arg, value.dim, value.index, value.dims, spans)
            case Displace():
                ends = self.call.walk.spans.of(value.arg, value.dim)
                start, stop = map(self.call.number, ends)
                arg, by = self.boxed[value.arg], self.boxed[value.by]
                return displaced(value, arg, by, spans, (start, stop))
        raise TypeError(f"The interpreter does not know '{type(value).__name__}'.")

    def _region(self, value: Region, spans: Spans) -> Array:
        array = np.empty(shape_of(spans), value.dtype)
        outside = regions.without(regions.EVERYWHERE, value.boxes)
        for branch, boxes in ((value.otherwise, outside), (value.then, value.boxes)):
            for box in boxes:
                part = self._part(value.dims, spans, box)
                if all(start < stop for start, stop in part):
                    starts = (start for start, _ in spans)
                    place = zip(part, starts, strict=True)
                    index = tuple(slice(a - start, b - start) for (a, b), start in place)
                    array[index] = self.boxed[branch].on(value.dims, part)
        return array

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
        init = [self.boxed[each].array for each in value.init]
        arrays = walked(value, init, [self.boxed[arg] for arg in value.args], box)
        return [Boxed(array, value.dims, box) for array in arrays]
