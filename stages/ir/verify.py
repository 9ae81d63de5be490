"""Verify the rules of the dataflow IR, which hold before and after every pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ...runtime.language import INTEGERS, SCALARS, DimensionKind, in_canonical_order
from ...runtime.process import WorkflowError
from ..artifacts import Lowered
from . import bounds
from .bounds import Bound, Const, DomainSymbol, Ranges, ScalarSymbol, TableBound
from .column_rows import Column
from .dataflow import Dataflow, Input, Leaf, Level, Region, Scan, Table, Value
from .inside import BOUNDS, values_of
from .rules.rows import Rules

Complaints: TypeAlias = Iterator[str]
Leaves: TypeAlias = Mapping[str, Leaf]
Tables: TypeAlias = Mapping[str, Table]


def verify(lowered: Lowered) -> Lowered:
    """Return the program if it keeps every rule; raise `WorkflowError` with the row and the rule.

    Boxes and reads may both be empty: the last step of lowering infers them.
    """
    for complaint in _complaints(lowered):
        raise WorkflowError(
            f"Program '{lowered.program.name}' breaks a rule of the dataflow IR: {complaint}.",
            hints=("Look for the bug in the last pass.",),
        )
    return lowered


def _complaints(lowered: Lowered) -> Complaints:
    program = lowered.program
    leaves = {leaf.name: leaf for leaf in program.leaves}
    tables = {table.name: table for table in program.tables}
    yield from _leaves(program)
    yield from _tables(program)
    yield from _rows(program, Rules(program.values, leaves, tables))
    yield from _statements(program, leaves)
    yield from versions(program)
    yield from _symbols(lowered, leaves, tables)
    if lowered.boxes or lowered.reads:
        yield from _boxes(lowered, leaves)


def _leaves(program: Dataflow) -> Complaints:
    for name, count in Counter(leaf.name for leaf in program.leaves).items():
        if count > 1:
            yield f"leaf '{name}' is declared {count} times, expected one declaration"
    for leaf in program.leaves:
        if not leaf.path or not 0 <= leaf.path[0] < len(program.parameters):
            yield f"leaf '{leaf.name}' belongs to no parameter"
        if leaf.dtype not in SCALARS:
            yield f"leaf '{leaf.name}' has the unknown dtype '{leaf.dtype}'"
        if leaf.dims != in_canonical_order(leaf.dims):
            yield f"the dimensions of leaf '{leaf.name}' are not in canonical order"
        if leaf.kind == "scalar" and leaf.dims:
            yield f"scalar '{leaf.name}' has dimensions"
        if leaf.ranges and tuple(each.dim for each in leaf.ranges) != leaf.dims:
            yield f"leaf '{leaf.name}' has ranges that are not over its dimensions"
        ends = (end for each in leaf.ranges for end in (each.start, each.stop))
        if not all(isinstance(end, Const) for end in ends):
            yield f"leaf '{leaf.name}' has a range that is not known"


def _tables(program: Dataflow) -> Complaints:
    for name, count in Counter(table.name for table in program.tables).items():
        if count > 1:
            yield f"table '{name}' is declared {count} times, expected one declaration"
    for table in program.tables:
        if table.local.kind is not DimensionKind.LOCAL:
            yield f"table '{table.name}' has the dimension '{table.local}', which is not local"
        if table.width < 0:
            yield f"table '{table.name}' has {table.width} neighbours"


def _rows(program: Dataflow, rules: Rules) -> Complaints:
    first: dict[Value, int] = {}
    for row, value in enumerate(program.values):
        if first.setdefault(value, row) != row:
            yield f"row %{row} equals row %{first[value]}, expected one row for equal values"
        if any(not 0 <= operand < row for operand in value.operands):
            yield f"row %{row} uses a row that is not defined before it"
            return
        for complaint in rules.complaints(value):
            yield f"row %{row} {complaint}"


def _statements(program: Dataflow, leaves: Leaves) -> Complaints:
    for index, statement in enumerate(program.statements):
        if not statement.stores:
            yield f"statement {index} stores nothing"
        for store in statement.stores:
            where = f"the store to '{store.target}' in statement {index}"
            leaf = leaves.get(store.target)
            if not 0 <= store.value < len(program.values):
                yield f"{where} has no value"
            elif leaf is None or leaf.kind != "field":
                yield f"{where} has no field leaf for its target"
            else:
                value = program.values[store.value]
                for box in (store.box, store.output.box):
                    yield from _store(leaf, box, value, where)
                if isinstance(value, Scan | Column):
                    yield f"{where} writes a scan, expected one of its results"


def _store(leaf: Leaf, box: Ranges, value: Value, where: str) -> Complaints:
    if value.dtype != leaf.dtype:
        yield f"{where} has a value of dtype '{value.dtype}', expected '{leaf.dtype}'"
    if not set(value.dims) <= set(leaf.dims):
        yield f"{where} has a value with dimensions that its target does not have"
    if tuple(each.dim for each in box) != leaf.dims:
        yield f"{where} has a box that is not over the dimensions of its target"


def versions(program: Dataflow) -> Complaints:
    """Check that inputs have the version of their statement: no earlier copy exists."""
    written: Counter[str] = Counter()
    for statement in program.statements:
        stored = (store.value for store in statement.stores)
        found = {row for row in stored if 0 <= row < len(program.values)}
        stack = sorted(found)
        while stack:
            row = stack.pop()
            value = program.values[row]
            if isinstance(value, Input) and value.version != written[value.name]:
                yield (
                    f"row %{row} is version {value.version} of '{value.name}', "
                    f"where statements read version {written[value.name]}"
                )
            fresh = [operand for operand in value.operands if operand not in found]
            found.update(fresh)
            stack += fresh
        written.update({store.target for store in statement.stores})


def _boxes(lowered: Lowered, leaves: Leaves) -> Complaints:
    program = lowered.program
    if len(lowered.boxes) != len(program.values):
        yield f"{len(lowered.boxes)} boxes are given for {len(program.values)} values"
    for row, (value, box) in enumerate(zip(program.values, lowered.boxes, strict=False)):
        if tuple(each.dim for each in box) != value.dims:
            yield f"row %{row} has a box that is not over its dimensions"
    for read in lowered.reads:
        where = f"the read of '{read.name}' in statement {read.statement}"
        leaf = leaves.get(read.name)
        if leaf is None or leaf.kind != "field":
            yield f"{where} has no field leaf"
        elif tuple(each.dim for each in read.box) != leaf.dims:
            yield f"{where} has a box that is not over the dimensions of the leaf"
        if not 0 <= read.statement < len(program.statements):
            yield f"{where} belongs to no statement"


def _bounds(lowered: Lowered) -> Iterator[tuple[str, Bound]]:
    """Yield every bound and its place."""
    for row, value in enumerate(lowered.program.values):
        if isinstance(value, Region | Scan | Level | Column):
            yield from ((f"row %{row}", end) for end in values_of(value, *BOUNDS))
    boxes = [(f"row %{row}", box) for row, box in enumerate(lowered.boxes)]
    for index, statement in enumerate(lowered.program.statements):
        for store in statement.stores:
            where = f"the store to '{store.target}' in statement {index}"
            boxes += [(where, store.box), (where, store.output.box)]
    boxes += [(f"the read of '{r.name}' in statement {r.statement}", r.box) for r in lowered.reads]
    for where, box in boxes:
        yield from ((where, end) for each in box for end in (each.start, each.stop))


def _symbols(lowered: Lowered, leaves: Leaves, tables: Tables) -> Complaints:
    """Check the symbols of all bounds in one walk, because bounds share parts."""
    found = dict.fromkeys(bound for _, bound in _bounds(lowered))
    for part in bounds.parts(*found):
        complaint = _symbol(part, leaves, tables)
        if complaint:
            places = (where for where, bound in _bounds(lowered) if part in bounds.parts(bound))
            yield f"{next(places)} has a bound in '{part}', {complaint}"


def _symbol(part: Bound, leaves: Leaves, tables: Tables) -> str:
    match part:
        case ScalarSymbol() if not _is_integer(leaves.get(part.name)):
            return "which is not an integer scalar"
        case DomainSymbol() if not _has(leaves.get(part.field), part):
            return "which no field leaf has"
        case DomainSymbol() if leaves[part.field].ranges:
            return "which is a known number"
        case TableBound() if part.table not in tables:
            return "whose table is not declared"
    return ""


def _is_integer(leaf: Leaf | None) -> bool:
    return leaf is not None and leaf.kind == "scalar" and leaf.dtype in INTEGERS


def _has(leaf: Leaf | None, symbol: DomainSymbol) -> bool:
    return leaf is not None and leaf.kind == "field" and symbol.dim in leaf.dims
