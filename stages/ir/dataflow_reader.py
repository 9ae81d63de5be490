"""Read the listing of a dataflow program back; see `dataflow_text` for its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal as OneOf
from typing import TypeAlias

import attrs

from ...runtime.language.dimension import Dimension
from ...runtime.language.types import SCALARS
from .bound_reader import BoundReader
from .bounds import Ranges
from .dataflow import (
    OPERATIONS,
    REDUCTIONS,
    Body,
    Dataflow,
    Displace,
    Gather,
    Input,
    Leaf,
    Literal,
    Local,
    Map,
    Neighbours,
    Read,
    Reduce,
    Ref,
    Region,
    Result,
    Scalar,
    Scan,
    Shift,
    Statement,
    Store,
    Table,
    Value,
)
from .listing_line import PATH, Line

Parts: TypeAlias = tuple[Dataflow, tuple[Ranges, ...], tuple[Read, ...]]
Path: TypeAlias = tuple[int, ...]


def natural_paths(parameters: Sequence[str]) -> Callable[[str], Path]:
    """Return a function from the name of a leaf to the path that the name implies.

    >>> natural_paths(("u", "pair"))("pair.0.1")
    (1, 0, 1)
    """
    places = {name: index for index, name in reversed(list(enumerate(parameters)))}

    def path_of(name: str) -> Path:
        inside: list[int] = []
        while name not in places:
            name, dot, last = name.rpartition(".")
            if not dot or not last.isdecimal():
                return ()
            inside.insert(0, int(last))
        return (places[name], *inside)

    return path_of


def read(text: str) -> Parts:
    """Return program, boxes and reads; raise `ValueError` for any error in the text."""
    if not text.endswith("\n"):
        raise ValueError("The listing of a dataflow program ends in the middle of a line.")
    return _Reader(text[:-1].split("\n")).program()


class _Reader(BoundReader):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = [Line(text, number) for number, text in enumerate(lines, 1)]
        self._next = 0

    def program(self) -> Parts:
        line = self._line("program")
        name = line.name()
        line.expect("(")
        parameters = tuple(line.several(")", line.name))
        line.end()
        for line in self._while("dimension"):
            self.declare(line)
        leaves = tuple(self._leaves(natural_paths(parameters)))
        tables = tuple(self._table(line) for line in self._while("table"))
        for line in self._while("bound"):
            self.define(line)
        values, boxes = self._values()
        statements = [Statement(tuple(self._stores(len(values)))) for _ in self._while("statement")]
        reads = tuple(self._read(line, len(statements)) for line in self._while("read"))
        if self._next < len(self._lines):
            self._lines[self._next].fail("a row, statement or read")
        program = Dataflow(name, parameters, leaves, values, tuple(statements), tables)
        return program, boxes, reads

    def _line(self, keyword: str) -> Line:
        for line in self._while(keyword):
            return line
        raise ValueError(f"The listing has no line that begins with '{keyword}'.")

    def _while(self, keyword: str) -> Iterator[Line]:
        while self._next < len(self._lines) and self._lines[self._next].opens(keyword):
            self._next += 1
            yield self._lines[self._next - 1]

    def _type(self, line: Line) -> tuple[tuple[Dimension, ...], str]:
        line.expect(":")
        dims: tuple[Dimension, ...] = ()
        if line.accept("["):
            dims = tuple(line.several("]", lambda: self.dim(line)))
        dtype = line.name()
        return (dims, dtype) if dtype in SCALARS else line.fail("a dtype")

    def _leaves(self, path_of: Callable[[str], Path]) -> Iterator[Leaf]:
        kinds: tuple[OneOf["field", "scalar"], ...] = ("field", "scalar")
        while self._next < len(self._lines):
            line = self._lines[self._next]
            kind = next((each for each in kinds if line.opens(each)), None)
            if kind is None:
                return
            self._next += 1
            name = line.name()
            path = path_of(name)
            if line.accept("at "):
                path = tuple(map(int, (line.match(PATH) or line.fail("a path")).split(".")))
            dims, dtype = self._type(line)
            ranges = self.box(line) if line.accept("on ") else ()
            line.end()
            yield Leaf(name, path, kind, dtype, dims, ranges)

    def _values(self) -> tuple[tuple[Value, ...], tuple[Ranges, ...]]:
        values: list[Value] = []
        boxes: list[Ranges] = []
        while self._next < len(self._lines) and self._lines[self._next].opens(f"%{len(values)}"):
            line = self._lines[self._next]
            line.expect("=")
            value = self._value(line, len(values))
            if line.accept("on "):
                boxes.append(self.box(line))
            line.end()
            self._next += 1
            if isinstance(value, Scan):
                value = attrs.evolve(value, body=self._body())
            values.append(value)
        if boxes and len(boxes) != len(values):
            raise ValueError("Some values have a box and some have none.")
        return tuple(values), tuple(boxes)

    def _value(self, line: Line, row: int) -> Value:
        op = line.name()
        match op:
            case "input" | "scalar" | "literal":
                return self._leaf_value(line, op)
            case "region":
                boxes = tuple(self.sides(line))
                then, otherwise = line.row(row), line.row(row)
                dims, dtype = self._type(line)
                return Region(boxes=boxes, then=then, otherwise=otherwise, dims=dims, dtype=dtype)
            case "scan":
                return self._scan(line, row)
            case "shift" | "displace" | "gather" | "neighbours" | "local" | "result":
                return self._access(line, op, row)
        if op in REDUCTIONS:
            arg = line.row(row)
            line.expect("over")
            table = line.name()
            dims, dtype = self._type(line)
            return Reduce(op=op, arg=arg, table=table, dims=dims, dtype=dtype)
        if op not in OPERATIONS:
            line.fail("an operation")
        args = self._rows(line, row)
        dims, dtype = self._type(line)
        return Map(op=op, args=args, dims=dims, dtype=dtype)

    def _leaf_value(self, line: Line, op: str) -> Value:
        if op == "literal":
            text = line.text()
            dims, dtype = self._type(line)
            return Literal(text=text, dims=dims, dtype=dtype)
        name = line.name()
        version = line.integer() if op == "input" and line.accept("@") else 0
        dims, dtype = self._type(line)
        if op == "input":
            return Input(name=name, version=version, dims=dims, dtype=dtype)
        return Scalar(name=name, dims=dims, dtype=dtype)

    def _access(self, line: Line, op: str, row: int) -> Value:
        arg = line.row(row)
        if op == "result":
            index = line.integer()
            dims, dtype = self._type(line)
            return Result(scan=arg, index=index, dims=dims, dtype=dtype)
        if op in ("gather", "neighbours"):
            table = line.name()
            place = line.index() if op == "gather" else 0
            dims, dtype = self._type(line)
            if op == "gather":
                return Gather(arg=arg, table=table, index=place, dims=dims, dtype=dtype)
            return Neighbours(arg=arg, table=table, dims=dims, dtype=dtype)
        dim = self.dim(line)
        count = line.row(row) if op == "displace" else 0
        count = line.integer() if op == "shift" else line.index() if op == "local" else count
        dims, dtype = self._type(line)
        if op == "shift":
            return Shift(arg=arg, dim=dim, offset=count, dims=dims, dtype=dtype)
        if op == "local":
            return Local(arg=arg, dim=dim, index=count, dims=dims, dtype=dtype)
        return Displace(arg=arg, dim=dim, by=count, dims=dims, dtype=dtype)

    def _rows(self, line: Line, count: int) -> tuple[Ref, ...]:
        rows: list[Ref] = []
        while line.comes("%"):
            rows.append(line.row(count))
        return tuple(rows)

    def _scan(self, line: Line, row: int) -> Scan:
        axis = self.dim(line)
        forward = line.accept("forward")
        if not forward:
            line.expect("backward")
        start = self.bound(line)
        line.expect("..")
        stop = self.bound(line)
        line.expect("init")
        init = self._rows(line, row)
        line.expect("args")
        args = self._rows(line, row)
        dims, dtype = self._type(line)
        return Scan(
            body=Body((), ()), init=init, args=args, axis=axis, forward=forward,
            start=start, stop=stop, dims=dims, dtype=dtype,
        )  # fmt: skip

    def _body(self) -> Body:
        """Read the lines below a scan."""
        values: list[Value] = []
        while self._next < len(self._lines) and self._lines[self._next].is_indented():
            line = self._lines[self._next]
            self._next += 1
            if line.accept("next"):
                results = self._rows(line, len(values))
                line.end()
                return Body(tuple(values), results)
            line.expect(f"%{len(values)} =")
            values.append(self._value(line, len(values)))
            line.end()
        raise ValueError("The body of a scan ends without 'next'.")

    def _table(self, line: Line) -> Table:
        name = line.name()
        line.expect(":")
        line.expect("[")
        target = self.dim(line)
        line.expect(",")
        local = self.dim(line)
        line.expect("]")
        line.expect("->")
        source = self.dim(line)
        line.expect("width")
        width = line.integer()
        skip = line.accept("skip")
        line.end()
        return Table(name, source, target, local, width, skip)

    def _stores(self, count: int) -> Iterator[Store]:
        while self._next < len(self._lines) and self._lines[self._next].is_indented():
            line = self._lines[self._next]
            target = line.name()
            line.expect("[")
            box = self.box(line)
            line.expect("]")
            whole = None
            if line.accept("of"):
                line.expect("[")
                whole = self.box(line)
                line.expect("]")
            line.expect("=")
            value = line.row(count)
            line.end()
            self._next += 1
            yield Store(target, box, value, whole)

    def _read(self, line: Line, count: int) -> Read:
        statement = line.integer()
        if not 0 <= statement < count:
            line.fail("the number of a statement")
        name = line.name()
        line.expect("[")
        box = self.box(line)
        line.expect("]")
        pointwise = line.accept("pointwise")
        line.end()
        return Read(statement, name, box, pointwise)
