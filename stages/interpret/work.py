"""Count what one call must do at least: bytes that it reads and writes, and its operations.

Each field counts once on the hull of what the call reads of it, and once on what it writes; a
value that the call has written itself is read from a cache. Each operation on floats counts as
one, a fused multiply-add as two, on the hull of the points that need it. No time is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np

from ...runtime.process import classes
from ..artifacts import Lowered
from ..ir import dataflow
from ..ir.column_rows import Column
from .accesses import Spans
from .call import Call
from .stage import Entry

Boxes: TypeAlias = dict[str, Spans]
FREE: Final = frozenset({"select", "cast"})
TABLE_BYTES: Final = 4
ACROSS: Final = (dataflow.Gather, dataflow.Neighbours, dataflow.Collect, dataflow.Reduce)


@classes.frozen
class Work:
    """What a call must do at least.

    Attributes:
        read: bytes of fields and neighbour tables that it reads.
        written: bytes of fields that it writes.
        operations: operations on floats.

    """

    read: int
    written: int
    operations: int


def work_of(
    lowered: Lowered, arguments: Mapping[str, Any], provider: Mapping[str, Any] | None = None
) -> Work:
    """Count the work of a call, with its arguments by the names of the parameters."""
    program = lowered.program
    ordered = [arguments[name] for name in program.parameters]
    leaves = Entry(lowered).check(*ordered, offset_provider=provider)
    call = Call.of(program, leaves)
    read: Boxes = {}
    written: Boxes = {}
    rows: Boxes = {}
    operations = 0
    for statement in program.statements:
        stores = list(call.live(statement))
        for ref, box in call.needed(stores).items():
            value = program.values[ref]
            if isinstance(value, dataflow.Input) and not value.version:
                _grow(read, value.name, box)
            for name, around in _tables(program, value, box):
                _grow(rows, name, around)
            operations += _operations(program, value, box)
        for store, box in stores:
            _grow(written, store.target, box)
    types = {leaf.name: np.dtype(leaf.dtype).itemsize for leaf in program.leaves}
    width = {table.name: table.width for table in program.tables}
    tables = sum(_size(box) * width[name] * TABLE_BYTES for name, box in rows.items())
    return Work(
        tables + sum(_size(box) * types[name] for name, box in read.items()),
        sum(_size(box) * types[name] for name, box in written.items()),
        operations,
    )


def _tables(
    program: dataflow.Dataflow, value: dataflow.Value, box: Spans
) -> Iterator[tuple[str, Spans]]:
    """Yield the tables that a value looks into, with the rows."""
    if isinstance(value, ACROSS):
        target = next(each.target for each in program.tables if each.name == value.table)
        if target in value.dims:
            yield value.table, (box[value.dims.index(target)],)


def _operations(program: dataflow.Dataflow, value: dataflow.Value, box: Spans) -> int:
    match value:
        case dataflow.Map():
            return _weight(value) * _size(box)
        case dataflow.Reduce() if _is_float(value):
            width = next(each.width for each in program.tables if each.name == value.table)
            return width * _size(box)
        case dataflow.Result(index=0):
            scan = program.values[value.scan]
            assert isinstance(scan, dataflow.Scan | Column)
            rows = scan.body.values if isinstance(scan, dataflow.Scan) else scan.body
            inner = (row for row in rows if isinstance(row, dataflow.Map))
            return sum(map(_weight, inner)) * _size(box)
    return 0


def _weight(value: dataflow.Map) -> int:
    return (2 if value.op == "fma" else 1) if _is_float(value) and value.op not in FREE else 0


def _is_float(value: dataflow.Value) -> bool:
    return value.dtype.startswith("float")


def _grow(boxes: Boxes, name: str, box: Spans) -> None:
    old = boxes.get(name, box)
    boxes[name] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, box, strict=True))


def _size(box: Spans) -> int:
    return prod(stop - start for start, stop in box)
