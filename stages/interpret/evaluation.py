"""Run dataflow with NumPy, each value exactly on the box that needs it: the oracle.

For each statement the boxes of its stores become numbers, and the walk of `infer_boxes` gives the
box of each value that they need. The interpreter computes and reads nothing else. A store with an
empty box needs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from ...runtime.calls.refused_arguments import too_small
from ...runtime.fields import is_same_array
from ...runtime.process import OverlapError, classes
from ..artifacts import Lowered
from ..ir.dataflow import (
    Collect,
    Const,
    Dataflow,
    Displace,
    Gather,
    Input,
    Neighbours,
    Range,
    Reduce,
    Ref,
    Statement,
    Store,
)
from ..lower.boxes.areas import Area, Dims, Need
from .accesses import Memory, Spans, led_to, view
from .call import Arguments, Call
from .validity import check_valid
from .values import values_of


def interpret(lowered: Lowered, arguments: Arguments) -> None:
    """Run a program on fields, scalars and tables, given by the names of leaves and tables."""
    call = Call.of(lowered.program, arguments)
    for statement in lowered.program.statements:
        stores = list(call.live(statement))
        _check_overlap(list(call.outputs(statement)), arguments)
        boxes = _needed(call, stores)
        done = values_of(call, boxes, {store.value for store, _ in stores})
        results = []
        for store, spans in stores:
            dims = tuple(each.dim for each in store.box)
            check_valid(store.target, done.valid.get(store.value), dims, spans, done.beyond())
            result = done.boxed[store.value].on(dims, spans)
            # compute all values before the first store; a single assignment copies by itself
            results.append(np.array(result) if len(stores) > 1 else result)
        for (store, spans), result in zip(stores, results, strict=True):
            view(arguments[store.target], spans)[...] = result


def _check_overlap(outputs: list[tuple[Store, Spans]], arguments: Arguments) -> None:
    """Refuse outputs of one statement that share memory, unless it is one and the same."""
    for (one, spans), (other, theirs) in combinations(outputs, 2):
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
    for ref, spans, loose in call.hard(stores):
        value = program.values[ref]
        if isinstance(value, Input):
            _check(value.name, "reads", value.dims, spans, arguments[value.name], loose)
    for ref, spans in call.needed(stores).items():
        value = program.values[ref]
        if isinstance(value, Input):
            if not all(arguments[value.name].shape):  # no element to clamp to
                _check(value.name, "reads", value.dims, spans, arguments[value.name])
        elif isinstance(value, Gather | Neighbours | Collect | Reduce):
            table = call.walk.tables[value.table]
            if table.skip or not isinstance(value, Reduce):
                rows = spans[value.dims.index(table.target)]
                _check(table.name, "reads", (table.target,), (rows,), arguments[table.name])


def _check(name: str, done: str, dims: Dims, spans: Spans, field: Memory, loose: Dims = ()) -> None:
    given = zip(field.starts, field.shape, strict=False)
    for dim, (start, stop), (first, count) in zip(dims, spans, given, strict=False):
        if dim in loose:
            continue
        if start < first or stop > first + count:
            raise too_small(name, dim, done, (start, stop), (first, first + count))


_MANY: Final = 1 << 16  # indices; for fewer it costs more to compute the distances twice


def _needed(call: Call, stores: Sequence[tuple[Store, Spans]]) -> dict[Ref, Spans]:
    """Return the box of each value that these stores need, in the order of the rows.

    A displacement may lead to all of its argument, whose bounds may be far apart. Where these are,
    its distances are computed first, and only what they lead to is needed.
    """

    def narrowed(value: Displace, whole: Range, need: Need) -> Range:
        start, stop = call.number(whole.start), call.number(whole.stop)
        if stop - start <= _MANY or not need:
            return whole
        around, dims = call.walk.areas.of(value.dims, need), call.program.values[value.by].dims
        own = Area(tuple(each for each in around if each.dim in dims))
        boxes = exact.boxes(exact.walk.from_seeds([(value.by, call.walk.areas.number(own))]))
        by = values_of(call, boxes, {value.by}).boxed[value.by]
        spans = tuple((call.number(each.start), call.number(each.stop)) for each in around)
        places = led_to(value, by, spans, (start, stop))
        return Range(value.dim, Const(int(places.min())), Const(int(places.max()) + 1))

    exact = classes.evolve(call, walk=classes.evolve(call.walk, narrowed=narrowed))
    return exact.needed(list(stores))
