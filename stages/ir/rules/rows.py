"""Verify single rows of dataflow: operands, dimensions and dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ....runtime.language import INTEGERS, Dimension, DimensionKind, in_canonical_order, union_of
from ....runtime.language.operations import BY_NAME
from ....runtime.process import classes
from ..column_rows import Column, column_complaints
from ..dataflow import (
    Body,
    Collect,
    Displace,
    Gather,
    Index,
    Input,
    Leaf,
    Level,
    Literal,
    Local,
    Map,
    Neighbours,
    OfOne,
    Reduce,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Table,
    Value,
)
from ..literal import respell
from .tables import table_complaints

Complaints: TypeAlias = Iterator[str]
Dims: TypeAlias = tuple[Dimension, ...]


@classes.frozen
class Rules:
    """The rules for a row, given the other rows, leaves and tables of its program."""

    values: tuple[Value, ...]
    leaves: Mapping[str, Leaf]
    tables: Mapping[str, Table]

    def complaints(self, value: Value) -> Complaints:
        """Yield the broken rules of a row."""
        if not isinstance(value, Result):
            for operand in value.operands:
                if isinstance(self.values[operand], Scan | Column):
                    yield "uses a scan itself, expected one of its results"
        match value:
            case Input() | Scalar():
                yield from self._leaf(value)
            case Literal() | Index():
                yield from _literal(value) if isinstance(value, Literal) else _index(value)
            case Map():
                args = [self.values[arg] for arg in value.args]
                if value.dims != union_of(arg.dims for arg in args):
                    yield "has dimensions that are not the canonical union of its operands'"
                yield from _operation(value, [arg.dtype for arg in args])
            case Region():
                yield from self._region(value)
            case Scan() | Column():
                yield from self._walk(value)
            case Result():
                yield from self._result(value)
            case OfOne() | Displace():
                yield from self._access(value)
            case _:
                yield f"has the class '{type(value).__name__}', which the dataflow IR does not have"

    def _leaf(self, value: Input | Scalar) -> Complaints:
        kind = "field" if isinstance(value, Input) else "scalar"
        leaf = self.leaves.get(value.name)
        if leaf is None or leaf.kind != kind:
            yield f"reads '{value.name}', which is not a {kind} leaf"
        elif (leaf.dims, leaf.dtype) != (value.dims, value.dtype):
            yield f"reads '{value.name}' with dimensions or a dtype other than its own"

    def _access(self, value: OfOne | Displace) -> Complaints:
        arg = self.values[value.arg]
        if value.dtype != arg.dtype:
            yield "has a dtype other than that of its operand"
        match value:
            case Shift():
                yield from _shift(value, arg.dims)
            case Displace():
                yield from _displace(value, arg.dims, self.values[value.by])
            case Gather() | Neighbours() | Collect() | Reduce():
                yield from table_complaints(value, arg.dims, self.tables)
            case Local():
                yield from _without(value, arg.dims, value.dim)
                if value.index < 0:
                    yield f"takes slot {value.index}"
            case Level():
                yield from _level(value, arg.dims)

    def _region(self, value: Region) -> Complaints:
        then, otherwise = self.values[value.then], self.values[value.otherwise]
        inside = [tuple(side.dim for side in box) for box in value.boxes]
        if not inside or not all(inside):
            yield "has a region without boxes, or a box without sides"
        if any(dims != in_canonical_order(dims) for dims in inside):
            yield "has a box whose dimensions are not in canonical order"
        if any(dim.kind is DimensionKind.LOCAL for dims in inside for dim in dims):
            yield "has a box along a local dimension"
        if value.dims != union_of((*inside, then.dims, otherwise.dims)):
            yield "has dimensions other than those of its region and its branches"
        if not value.dtype == then.dtype == otherwise.dtype:
            yield "has branches of different dtypes"

    def _walk(self, value: Scan | Column) -> Complaints:
        init, args = ([self.values[ref] for ref in refs] for refs in (value.init, value.args))
        flat = range(len(init)) if isinstance(value, Scan) else value.planes
        if value.axis.kind is DimensionKind.LOCAL:
            yield f"walks along '{value.axis}', which is local"
        if any(value.axis in init[place].dims for place in flat if 0 <= place < len(init)):
            yield f"has an initial state that varies along '{value.axis}'"
        if value.dims != union_of([(value.axis,), *(each.dims for each in (*init, *args))]):
            yield "has dimensions other than those of its arguments and its axis"
        if not init or value.dtype != init[0].dtype:
            yield "has a dtype other than that of the first leaf of its state"
        state, given = ([each.dtype for each in rows] for rows in (init, args))
        if isinstance(value, Scan):
            yield from _body(value.body, state, given)
        else:
            leaves = {f"a{n}": Leaf(f"a{n}", (), "scalar", each) for n, each in enumerate(given)}
            rules = Rules(value.body, leaves, {})
            yield from column_complaints(value, state, rules.complaints)

    def _result(self, value: Result) -> Complaints:
        scan = self.values[value.scan]
        if not isinstance(scan, Scan | Column):
            yield "is the result of a row that is not a scan"
            return
        if not 0 <= value.index < len(scan.init):
            yield f"is result {value.index} of a scan that has {len(scan.init)}"
            return
        dims = scan.dims if isinstance(scan, Scan) else scan.dims_of(value.index)
        if (value.dims, value.dtype) != (dims, self.values[scan.init[value.index]].dtype):
            yield "has dimensions or a dtype other than those of the scan"


def _body(body: Body, state: list[str], args: list[str]) -> Complaints:
    known = {f"s{index}": dtype for index, dtype in enumerate(state)}
    known |= {f"a{index}": dtype for index, dtype in enumerate(args)}
    leaves = {name: Leaf(name, (), "scalar", dtype) for name, dtype in known.items()}
    rules = Rules(body.values, leaves, {})
    for row, value in enumerate(body.values):
        if not isinstance(value, Scalar | Literal | Map):
            yield f"has a '{type(value).__name__}' in its body"
        elif any(not 0 <= operand < row for operand in value.operands):
            yield f"has a body whose row %{row} uses a row that is not defined before it"
        else:
            complaints = rules.complaints(value)
            yield from (f"has a body whose row %{row} {each}" for each in complaints)
    if len(set(body.values)) != len(body.values):
        yield "has a body with equal rows"
    if any(not 0 <= ref < len(body.values) for ref in body.results):
        yield "has a body without a row for its next state"
    elif [body.values[ref].dtype for ref in body.results] != state:
        yield "has a body whose next state has other dtypes than the state"


def _shift(value: Shift, given: Dims) -> Complaints:
    if value.offset == 0 and value.dims == given:
        yield "is shifted by 0"
    if value.dim not in given:
        yield f"is shifted along '{value.dim}', which its operand does not have"
    if value.dims != tuple(value.onto if dim is value.dim else dim for dim in given):
        yield "has dimensions other than those of its operand"


def _displace(value: Displace, given: Dims, by: Value) -> Complaints:
    if value.dim not in given:
        yield f"is displaced along '{value.dim}', which its operand does not have"
    if by.dtype not in INTEGERS:
        yield f"is displaced by a '{by.dtype}', expected an integer"
    if value.dims != union_of((given, by.dims)):
        yield "has dimensions that are not the canonical union of its operands'"


def _without(value: Value, given: Dims, local: Dimension) -> Complaints:
    if local.kind is not DimensionKind.LOCAL:
        yield f"takes slots of '{local}', which is not local"
    if local not in given:
        yield f"takes slots of '{local}', which its operand does not have"
    if value.dims != tuple(dim for dim in given if dim is not local):
        yield f"has dimensions other than those of its operand without '{local}'"


def _level(value: Level, given: Dims) -> Complaints:
    if value.dim.kind is DimensionKind.LOCAL or value.dim not in given:
        yield f"takes an index along '{value.dim}', which its operand does not have"
    if value.dims != tuple(dim for dim in given if dim is not value.dim):
        yield f"has dimensions other than those of its operand without '{value.dim}'"


def _index(value: Index) -> Complaints:
    if (value.dims, value.dtype) != ((value.dim,), "int64"):
        yield "is an index with a dtype or dimensions other than its own"


def _literal(value: Literal) -> Complaints:
    if value.dims:
        yield "is a literal with dimensions"
    try:
        spelling = respell(value.text, value.dtype)
    except ValueError:
        yield f"spells '{value.text}', which is not a number of type '{value.dtype}'"
        return
    if spelling != value.text:
        yield f"spells '{value.text}', whose canonical spelling is '{spelling}'"


def _operation(value: Map, given: list[str]) -> Complaints:
    row = BY_NAME.get(value.op)
    if row is None:
        yield f"has the unknown operation '{value.op}'"
        return
    if len(given) != row.arity:
        yield f"gives '{value.op}' {len(given)} operands, expected {row.arity}"
        return
    operands = given
    if value.op == "select":
        operands = given[1:]
        if given[0] != "bool":
            yield f"selects by a '{given[0]}', expected 'bool'"
    result = {"operand": operands[0], "bool": "bool", "target": value.dtype}[row.gives]
    if any(dtype != operands[0] for dtype in operands):
        yield f"gives '{value.op}' operands of different dtypes: {', '.join(operands)}"
    elif operands[0] not in row.takes:
        yield f"gives '{value.op}' an operand of dtype '{operands[0]}'"
    elif value.dtype != result:
        yield f"has dtype '{value.dtype}', expected '{result}'"
