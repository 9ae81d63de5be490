"""Run dataflow with NumPy, each value exactly on the box where it is needed: the oracle.

A statement is computed as it is written: the boxes of its stores become numbers, the
walk of `infer_boxes` says where each value is needed around them, and nothing else is
computed or read. A store whose box is empty asks for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...runtime import operations
from ...runtime.compiled import too_small
from ...runtime.dimension import Dimension
from ..artifacts import Lowered
from ..ir import bounds
from ..ir.bounds import Const, DomainSymbol, Range, Ranges, ScalarSymbol
from ..ir.dataflow import Dataflow, Input, Literal, Map, Ref, Scalar, Shift, Statement, Store
from ..ir.literal import number
from ..lower.infer_boxes import Hulls, extents

Array: TypeAlias = Any  # a NumPy array, or a NumPy scalar where there are no dimensions
Spans: TypeAlias = tuple[tuple[int, int], ...]  # start and stop along each dimension


class Memory(Protocol):
    """What the interpreter asks of a field."""

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


def interpret(lowered: Lowered, arguments: Mapping[str, Any]) -> None:
    """Run a program on fields and NumPy scalars, given by the names of the leaves."""
    program = lowered.program
    for statement in program.statements:
        stores = list(_live(statement, arguments))
        boxes = _needed(program, stores)
        arrays = _evaluate(program, boxes, {store.value for store, _ in stores}, arguments)
        results = []
        for store, spans in stores:
            value = program.values[store.value]
            dims = tuple(each.dim for each in store.box)
            result = _aligned(arrays[store.value], value.dims, boxes[store.value], dims, spans)
            # every value is known before the first is written; one assignment copies by itself
            results.append(np.array(result) if len(stores) > 1 else result)
        for (store, spans), result in zip(stores, results, strict=True):
            _view(arguments[store.target], spans)[...] = result


def check_ranges(program: Dataflow, statement: Statement, arguments: Mapping[str, Any]) -> None:
    """Make sure that a statement writes and reads inside its fields."""
    stores = list(_live(statement, arguments))
    for store, spans in stores:
        dims = tuple(each.dim for each in store.box)
        _check(store.target, "writes", dims, spans, arguments[store.target])
    for ref, spans in _needed(program, stores).items():
        value = program.values[ref]
        if isinstance(value, Input):
            _check(value.name, "reads", value.dims, spans, arguments[value.name])


def _check(name: str, done: str, dims: tuple[Dimension, ...], spans: Spans, field: Memory) -> None:
    given = zip(field.starts, field.shape, strict=True)
    for dim, (start, stop), (first, count) in zip(dims, spans, given, strict=True):
        if start < first or stop > first + count:
            raise too_small(name, dim, done, (start, stop), (first, first + count))


def _live(statement: Statement, arguments: Mapping[str, Any]) -> Iterator[tuple[Store, Spans]]:
    """Yield the stores whose box is not empty, with their boxes as numbers."""

    def value_of(symbol: ScalarSymbol | DomainSymbol) -> int:
        if isinstance(symbol, ScalarSymbol):
            return int(arguments[symbol.name])
        field: Memory = arguments[symbol.field]
        axis = field.dims.index(symbol.dim)
        return int(field.starts[axis] + (field.shape[axis] if symbol.end == "stop" else 0))

    for store in statement.stores:
        spans = tuple(
            (bounds.evaluate(each.start, value_of), bounds.evaluate(each.stop, value_of))
            for each in store.box
        )
        if all(start < stop for start, stop in spans):
            yield store, spans


def _needed(program: Dataflow, stores: list[tuple[Store, Spans]]) -> dict[Ref, Spans]:
    """Return where each value is needed for these stores, as numbers, in order of the rows."""
    hulls = Hulls()
    seeds = [(store.value, hulls.number(_constant(store.box, spans))) for store, spans in stores]
    return {
        ref: tuple(_ends(each) for each in hulls.of(program.values[ref].dims, need))
        for ref, need in extents(program.values, seeds).items()
    }


def _constant(box: Ranges, spans: Spans) -> Ranges:
    return tuple(
        Range(each.dim, Const(start), Const(stop))
        for each, (start, stop) in zip(box, spans, strict=True)
    )


def _ends(each: Range) -> tuple[int, int]:
    assert isinstance(each.start, Const)
    assert isinstance(each.stop, Const)
    return each.start.value, each.stop.value


def _evaluate(
    program: Dataflow, boxes: dict[Ref, Spans], stored: set[Ref], arguments: Mapping[str, Any]
) -> dict[Ref, Array]:
    """Compute rows in order; what no later row needs is dropped."""
    last = {operand: ref for ref in boxes for operand in program.values[ref].operands}
    arrays: dict[Ref, Array] = {}
    for ref, spans in boxes.items():
        value = program.values[ref]
        match value:
            case Input():
                arrays[ref] = _view(arguments[value.name], spans)
            case Scalar():
                arrays[ref] = np.dtype(value.dtype).type(arguments[value.name])
            case Literal():
                arrays[ref] = number(value.text, value.dtype)
            case Shift():
                axis = value.dims.index(value.dim)
                moved = list(spans)
                moved[axis] = (spans[axis][0] + value.offset, spans[axis][1] + value.offset)
                arrays[ref] = _aligned(
                    arrays[value.arg], value.dims, boxes[value.arg], value.dims, tuple(moved)
                )
            case Map():
                operands = [
                    _aligned(arrays[arg], program.values[arg].dims, boxes[arg], value.dims, spans)
                    for arg in value.args
                ]
                dtype = value.dtype if value.op == "cast" else None
                arrays[ref] = operations.apply(value.op, *operands, dtype=dtype)
        for operand in value.operands:
            if last[operand] == ref and operand not in stored:
                arrays.pop(operand, None)
    return arrays


def _aligned(
    array: Array,
    own: tuple[Dimension, ...],
    box: Spans,
    dims: tuple[Dimension, ...],
    spans: Spans,
) -> Array:
    """Return the part of `array` on `spans`, with an axis of extent 1 where it has no dimension."""
    if not own:
        return array
    starts = {dim: start for dim, (start, _) in zip(own, box, strict=True)}
    index = tuple(
        slice(start - starts[dim], stop - starts[dim]) if dim in starts else np.newaxis
        for dim, (start, stop) in zip(dims, spans, strict=True)
    )
    return array[index]


def _view(field: Memory, spans: Spans) -> Array:
    """Return a view of a field on a box inside it."""
    index = tuple(
        slice(start - first, stop - first)
        for (start, stop), first in zip(spans, field.starts, strict=True)
    )
    return field.ndarray[(*index, ...)]
