"""How listings write fields and read them back: kinds of fields, and patterns of lines.

A pattern is the text of a line with its fields in braces, each with its kind:
`shift {arg:row} {dim:dim}{offset:signed}`.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...runtime.process import classes
from . import column_rows, dataflow
from .bound_reader import BoundReader
from .bounds import Ranges
from .dataflow_names import Names, quoted, rows_of
from .listing_line import NUMBER, Line, compiled


@classes.frozen
class Kind:
    """How a field is written and read; one without its name is `bare`."""

    write: Callable[[Names, Any], str]
    read: Callable[[BoundReader, Line], Any]
    is_bare: bool = False
    is_list: bool = False  # nothing is written if it is empty

    @property
    def bare(self) -> Kind:
        """The kind of a field without its name."""
        return classes.evolve(self, is_bare=True)


def many(kind: Kind) -> Kind:
    """Return the kind of several values with commas between them."""
    return Kind(
        lambda names, values: ", ".join(kind.write(names, each) for each in values),
        lambda names, line: tuple(line.listed(lambda: kind.read(names, line))),
        is_list=True,
    )


def within(start: str, end: str, kind: Kind) -> Kind:
    """Return the kind of several values in brackets, maybe none."""
    listed = many(kind)

    def read(names: BoundReader, line: Line) -> tuple[Any, ...]:
        line.expect(start)
        return tuple(line.several(end, lambda: kind.read(names, line)))

    return Kind(lambda names, values: f"{start}{listed.write(names, values)}{end}", read)


def together(*kinds: Kind) -> Kind:
    """Return the kind of a tuple of values of these kinds."""
    return Kind(
        lambda names, values: " ".join(
            k.write(names, v) for k, v in zip(kinds, values, strict=True)
        ),
        lambda names, line: tuple(kind.read(names, line) for kind in kinds),
    )


def either(yes: str, no: str = "") -> Kind:
    """Return the kind of a flag that is one of two words, or a word or nothing."""
    words = {True: yes and f" {yes}", False: no and f" {no}"}

    def read(_: BoundReader, line: Line) -> bool:
        if line.accept(yes):
            return True
        line.expect(no)
        return False

    return Kind(lambda _, value: words[value], read)


def maybe(word: str, kind: Kind, nothing: Any) -> Kind:
    """Return the kind of a value after a word; there is neither if it is `nothing`."""
    return Kind(
        lambda names, value: "" if value == nothing else f" {word}{kind.write(names, value)}",
        lambda names, line: kind.read(names, line) if line.accept(word) else nothing,
    )


def _rows(_: BoundReader, line: Line) -> tuple[int, ...]:
    rows = []
    while line.comes("%"):
        rows.append(line.row())
    return tuple(rows)


def _box(names: BoundReader, line: Line) -> Ranges:
    line.expect("[")
    box = names.box(line)
    line.expect("]")
    return box


INT: Final = Kind(lambda _, value: str(value), lambda _, line: line.integer())
NAME: Final = Kind(lambda _, name: quoted(name), lambda _, line: line.name())
TEXT: Final = Kind(
    lambda _, text: text if compiled(NUMBER).fullmatch(text) else json.dumps(text),
    lambda _, line: line.text(),
)
ROW: Final = Kind(lambda _, row: f"%{row}", lambda _, line: line.row())
ROWS: Final = Kind(lambda _, rows: rows_of(rows), _rows)
BOUND: Final = Kind(Names.bound, BoundReader.bound)
RANGE: Final = Kind(Names.range, BoundReader.range)
BOX: Final = Kind(lambda names, box: f"[{names.box(box)}]", _box)
DIM: Final = Kind(lambda names, dim: names.labels[dim], BoundReader.dim)
KINDS: Final[Mapping[str, Kind]] = {
    "int": INT, "name": NAME, "text": TEXT, "row": ROW, "rows": ROWS, "bound": BOUND, "box": BOX,
    "dim": DIM, "pointwise": either("pointwise"), "skip": either("skip"),
    "way": either("forward", "backward"), "version": maybe("@", INT, 0),
    "slot": maybe("slot ", INT, None), "whole": maybe("of ", BOX, None),
    "planes": maybe("planes ", many(INT), ()),
    "signed": Kind(lambda _, value: f"{value:+d}", lambda _, line: line.integer()),
    "region": Kind(
        lambda names, boxes: "".join(f" [{', '.join(map(names.side, box))}]" for box in boxes),
        lambda names, line: tuple(names.sides(line)),
    ),
}  # fmt: skip


def written(names: Names, pattern: str, value: Any) -> str:
    """Return the text of a value, whose fields a pattern names."""
    return "".join(
        text + (KINDS[kind].write(names, getattr(value, field)) if field else "")
        for text, field, kind in _parts(pattern)
    )


def given(names: BoundReader, pattern: str, line: Line) -> dict[str, Any]:
    """Return the fields that the text of a pattern gives."""
    found = {}
    for text, field, kind in _parts(pattern):
        for word in text.split():
            line.expect(word)
        if field:
            found[field] = KINDS[kind].read(names, line)
    return found


@functools.cache
def _parts(pattern: str) -> tuple[tuple[str, str, str], ...]:
    """Return the texts of a pattern, each with the field after it and the kind of that field."""
    pieces = [piece or "" for piece in re.split(r"\{(\w+)(?::(\w+))?\}", pattern)]
    return tuple(zip(pieces[::3], [*pieces[1::3], ""], [*pieces[2::3], ""], strict=True))


# A type follows each value, ` : [I, K] float64`, and the rows of its body a scan or column.
VALUES: Final[Mapping[type[dataflow.Value], str]] = {
    dataflow.Input: "input {name:name}{version:version}",
    dataflow.Scalar: "scalar {name:name}",
    dataflow.Literal: "literal {text:text}",
    dataflow.Index: "index {dim:dim}",
    dataflow.Map: "{op:name}{args:rows}",
    dataflow.Shift: "shift {arg:row} {dim:dim}{offset:signed}",
    dataflow.Displace: "displace {arg:row} {dim:dim} {by:row}",
    dataflow.Gather: "gather {arg:row} {table:name}[{index:int}]",
    dataflow.Neighbours: "neighbours {arg:row} {table:name}",
    dataflow.Collect: "collect {arg:row} {table:name} {slots:name}{index:slot}",
    dataflow.Reduce: "{op:name} {arg:row} over {table:name}",
    dataflow.Local: "local {arg:row} {dim:dim}[{index:int}]",
    dataflow.Level: "level {arg:row} {dim:dim} at {at:bound}",
    dataflow.Region: "region{boxes:region} {then:row} {otherwise:row}",
    dataflow.Scan: "scan {axis:dim}{forward:way} {start:bound} .. {stop:bound} init{init:rows}"
    " args{args:rows}",
    dataflow.Result: "result {scan:row} {index:int}",
    column_rows.Column: "column {axis:dim}{forward:way} {start:bound} .. {stop:bound}"
    " in {levels:box} init{init:rows} args{args:rows}{planes:planes}",
    column_rows.Get: "get {variable:int}{offset:signed}",
    column_rows.GetAt: "get_at {variable:int} {at:row}",
    column_rows.Set: "set {variable:int}{offset:signed} {value:row}",
    column_rows.SetAt: "set_at {variable:int} {at:row} {value:row}",
    column_rows.If: "if {test:row}",
    column_rows.Else: "else",
    column_rows.While: "while",
    column_rows.Holds: "holds {test:row}",
    column_rows.End: "end",
}
TABLE: Final = (
    "{name:name}: [{target:dim}, {local:dim}] -> {source:dim} width {width:int}{skip:skip}"
)
STORE: Final = "{target:name}{box:box}{whole:whole} = {value:row}"
READ: Final = "{statement:int} {name:name}{box:box}{pointwise:pointwise}"
