"""Read the listing of a dataflow program back; see `dataflow_text` for its form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from ...runtime.language import SCALARS, Dimension
from ...runtime.process import classes
from .bound_reader import BoundReader
from .bounds import Ranges
from .column_rows import Column
from .dataflow import (
    OPERATIONS,
    REDUCTIONS,
    Body,
    Dataflow,
    Leaf,
    Map,
    Read,
    Reduce,
    Scan,
    Statement,
    Store,
    Table,
    Value,
)
from .dataflow_names import natural_paths
from .listing_forms import READ, ROWS, STORE, TABLE, VALUES, given
from .listing_line import PATH, Line

Parts: TypeAlias = tuple[Dataflow, tuple[Ranges, ...], tuple[Read, ...]]
Path: TypeAlias = tuple[int, ...]
BY_WORD: Final[dict[str, type[Value]]] = {
    **dict.fromkeys(OPERATIONS, Map),
    **dict.fromkeys(REDUCTIONS, Reduce),
    **{pattern.partition(" ")[0].partition("{")[0]: cls for cls, pattern in VALUES.items()},
}


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
        line = next(self._while("program"), None)
        if line is None:
            raise ValueError("The listing does not begin with a line 'program'.")
        name = line.name()
        line.expect("(")
        parameters = tuple(line.several(")", line.name))
        line.end()
        for line in self._while("dimension"):
            self.declare(line)
        leaves = tuple(self._leaves(natural_paths(parameters)))
        tables = tuple(Table(**self._whole(line, TABLE)) for line in self._while("table"))
        for line in self._while("bound"):
            self.define(line)
        values, boxes = self._values()
        statements = [Statement(tuple(self._stores(len(values)))) for _ in self._while("statement")]
        reads = tuple(self._read(line, len(statements)) for line in self._while("read"))
        if self._next < len(self._lines):
            self._lines[self._next].fail("a row, statement or read")
        return Dataflow(name, parameters, leaves, values, tuple(statements), tables), boxes, reads

    def _while(self, *words: str) -> Iterator[Line]:
        """Yield the next lines while they begin with one of the words; none is an indented line."""
        while self._next < len(self._lines) and self._lines[self._next].word in words:
            line = self._lines[self._next]
            self._next += 1
            line.opens(line.word)
            yield line

    def _type(self, line: Line) -> tuple[tuple[Dimension, ...], str]:
        line.expect(":")
        dims: tuple[Dimension, ...] = ()
        if line.accept("["):
            dims = tuple(line.several("]", lambda: self.dim(line)))
        dtype = line.name()
        return (dims, dtype) if dtype in SCALARS else line.fail("a dtype")

    def _leaves(self, path_of: Callable[[str], Path]) -> Iterator[Leaf]:
        for line in self._while("field", "scalar"):
            name = line.name()
            path = path_of(name)
            if line.accept("at "):
                path = tuple(map(int, (line.match(PATH) or line.fail("a path")).split(".")))
            dims, dtype = self._type(line)
            ranges = self.box(line) if line.accept("on ") else ()
            line.end()
            yield Leaf(
                name, path, "field" if line.word == "field" else "scalar", dtype, dims, ranges
            )

    def _values(self) -> tuple[tuple[Value, ...], tuple[Ranges, ...]]:
        values: list[Value] = []
        boxes: list[Ranges] = []
        while (line := next(self._while(f"%{len(values)}"), None)) is not None:
            line.expect("=")
            value = self._value(line, len(values))
            if line.accept("on "):
                boxes.append(self.box(line))
            line.end()
            if isinstance(value, Scan):
                value = classes.evolve(value, body=self._body())
            elif isinstance(value, Column):
                value = classes.evolve(value, body=self._body().values)
            values.append(value)
        if boxes and len(boxes) != len(values):
            raise ValueError("Some values have a box and some have none.")
        return tuple(values), tuple(boxes)

    def _value(self, line: Line, row: int) -> Value:
        cls = BY_WORD.get(line.ahead(line.name)) or line.fail("an operation")
        line.rows = row
        parts = given(self, VALUES[cls], line)
        dims, dtype = self._type(line)
        if cls is Scan:
            parts["body"] = Body((), ())  # its lines follow
        elif cls is Column:
            parts["body"] = ()
        return cls(**parts, dims=dims, dtype=dtype)

    def _body(self) -> Body:
        """Read the lines below a scan or column."""
        values: list[Value] = []
        for line in self._while(""):
            line.rows = len(values)
            if line.accept("next"):
                results = ROWS.read(self, line)
                line.end()
                return Body(tuple(values), results)
            line.expect(f"%{len(values)} =")
            values.append(self._value(line, len(values)))
            line.end()
        raise ValueError("The body of a scan ends without 'next'.")

    def _whole(self, line: Line, pattern: str) -> dict[str, Any]:
        parts = given(self, pattern, line)
        line.end()
        return parts

    def _stores(self, count: int) -> Iterator[Store]:
        for line in self._while(""):
            line.rows = count
            yield Store(**self._whole(line, STORE))

    def _read(self, line: Line, count: int) -> Read:
        read = Read(**self._whole(line, READ))
        if not 0 <= read.statement < count:
            raise ValueError(f"The listing has no statement {read.statement}.")
        return read
