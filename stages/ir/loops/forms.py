"""The text form of the loop IR as one table, by which `text.py` prints and `reader.py` reads.

A line is a keyword, the bare fields in their order, and the other fields by name if they differ
from their defaults: `gpu block 32, 2 ahead 8 asked %5, %6`. What a field holds may follow as lines
of their own, further in. A reason ends the line as a comment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from typing import Literal as OneOf

import attrs

from ..bound_reader import BoundReader
from ..bounds import PatchMember, PatchOrder
from ..dataflow_names import Names, quoted
from ..listing_line import NUMBER, Line
from .buffers import Buffer
from .column import Column, Get, Set, Sweep
from .cpu import CpuMarks, Cut, Member, Portions, Tiles
from .gpu import Columns, ColumnTile, GpuMarks, Landed, Landing, Long, Patches, Rows
from .kernel import Group, Loop, Node, Step
from .nest import (
    Advance,
    Argument,
    Constant,
    Each,
    Index,
    Load,
    Nest,
    NestLoop,
    Number,
    Reading,
    State,
    Store,
)


@attrs.frozen
class Kind:
    """How a field is written and read; one without its name is `bare`."""

    write: Callable[[Names, Any], str]
    read: Callable[[BoundReader, Line], Any]
    is_bare: bool = False
    is_list: bool = False  # nothing is written if it is empty

    @property
    def bare(self) -> Kind:
        """The kind of a field without its name."""
        return attrs.evolve(self, is_bare=True)


# A field whose values have lines of their own: their types, and whether there are many, at most
# one, or nodes that are one body.
Held: TypeAlias = tuple[str, type[Any] | tuple[type[Any], ...], OneOf["many", "maybe", "body"]]


@attrs.frozen
class Form:
    """The text form of a class: a keyword, or that in field `said`, and its fields."""

    keyword: str
    fields: Mapping[str, Kind]
    held: tuple[Held, ...] = ()
    said: str = ""


def many(kind: Kind) -> Kind:
    """Return the kind of several values with commas between them."""

    def read(names: BoundReader, line: Line) -> tuple[Any, ...]:
        found = [kind.read(names, line)]
        while line.accept(","):
            found.append(kind.read(names, line))
        return tuple(found)

    return Kind(
        lambda names, values: ", ".join(kind.write(names, each) for each in values),
        read,
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


def _form(keyword: str, *held: Held, said: str = "", **fields: Kind) -> Form:
    return Form(keyword, fields, held, said)


INT: Final = Kind(lambda _, value: str(value), lambda _, line: line.integer())
FLAG: Final = Kind(lambda *_: "", lambda *_: True)
BOOL: Final = Kind(lambda _, value: str(value).lower(), lambda _, line: line.name() == "true")
NAME: Final = Kind(lambda _, name: quoted(name), lambda _, line: line.name())
TEXT: Final = Kind(
    lambda _, text: text if NUMBER.fullmatch(text) else json.dumps(text),
    lambda _, line: line.text(),
)
ROW: Final = Kind(lambda _, row: f"%{row}", lambda _, line: line.row())
BOUND: Final = Kind(Names.bound, BoundReader.bound)
RANGE: Final = Kind(Names.range, BoundReader.range)
DIM: Final = Kind(lambda names, dim: names.labels[dim], BoundReader.dim)
ORDER: Final = Kind(
    lambda names, order: names.orders[order], lambda names, line: names.orders[line.name()]
)
ROWS, NAMES, INTS = many(ROW), many(NAME), many(INT)
BOX, DIMS, OFFSETS = within("(", ")", RANGE), within("[", "]", DIM), within("[", "]", INT)
WAY: Final = within("(", ")", together(NAME, INT))
MEMORIES: Final = ("field", "table", "arena", "tile", "shared")
LOOPS: Final = ("parallel", "sequential", "vector", "thread")

FORMS: Final[Mapping[type[Any], Form]] = {
    Group: _form("group", statement=INT.bare, box=BOX.bare),
    Buffer: _form(
        "", said="memory", name=NAME.bare, dtype=NAME.bare, dims=DIMS.bare, unit=DIM, ring=DIM,
        slot=INT, order=DIMS, box=BOX,
    ),
    PatchOrder: _form(
        "order", ("members", PatchMember, "many"), size=INT, portion=INT, most=INT, percent=INT,
    ),
    PatchMember: _form(
        "list", fills=BOOL, row_bytes=INT, owner=NAME, leads_back=BOOL, begins=INT,
        readings=many(together(INT, WAY)),
    ),
    Step: _form("step", ("body", Node, "body"), statement=INT.bare),
    Loop: _form("loop", ("body", Node, "body"), range=RANGE.bare, backward=FLAG),
    Nest: _form("nest", ("reads", Reading, "many"), ("marks", (CpuMarks, GpuMarks), "maybe"),
                group=INT, states=many(together(NAME, ROW))),
    NestLoop: _form("", said="kind", range=RANGE.bare, backward=FLAG, step=INT),
    Reading: _form("reads", buffer=NAME.bare, box=BOX.bare, moved=FLAG),
    Each: _form("each", ("nest", Nest, "body"), elements=INT.bare, part=NAME, asked=ROWS),
    Column: _form("column", ("reads", Reading, "many"), group=INT, registers=NAMES),
    Sweep: _form("sweep", range=RANGE.bare, backward=FLAG),
    # CPUs
    CpuMarks: _form("cpu", march=INT, streams=NAMES, ahead=INT, asked=ROWS,
                    usual=many(together(ROW, BOOL)), slides=many(together(ROW, ROW, INT))),
    Cut: _form("cut", range=RANGE.bare, size=INT, even=FLAG),
    Tiles: _form("tiles", ("cuts", Cut, "many"), ("members", Member, "many"),
                 arrays=NAMES, rolled=DIM, threads=INT),
    Member: _form("member", ("nest", Nest, "body"), margins=many(together(INT, INT))),
    Portions: _form(
        "portions", ("loops", Each, "many"), arrays=NAMES, order=ORDER, extent=BOUND, levels=BOUND,
        bytes=INT, least=INT, most=INT, memory=BOUND, cores=INT, slot=INT,
    ),
    # GPUs
    GpuMarks: _form("gpu", block=INTS, points=INTS, blocks=INT, unaligned=FLAG, reciprocals=FLAG,
                    ahead=INT, asked=ROWS),
    Landed: _form("land", buffer=NAME.bare, offsets=OFFSETS.bare, dtype=NAME.bare, room=NAME),
    Landing: _form("landing", ("landed", Landed, "many"), rounds=INT, ahead=INT),
    ColumnTile: _form("room", dtype=NAME.bare, source=NAME, offsets=OFFSETS, filled=RANGE,
                      holds=NAMES, written=many(together(NAME, RANGE))),
    Rows: _form("rows", ("tiles", ColumnTile, "many"), columns=INT, first_level=BOUND, pitch=BOUND),
    Long: _form("long", levels=BOUND, rest=BOUND, outside=RANGE),
    Columns: _form("columns", ("load", (Landing, Rows, Long), "maybe"), ("scans", Nest, "many"),
                   arrays=NAMES, threads=INT, needed=BOUND, most=INT, blocks=INT, keeps=FLAG),
    Patches: _form("patches", ("body", Node, "body"), arrays=NAMES, order=ORDER, levels=INT,
                   points=INT, threads=INT, blocks=INT, extent=BOUND),
    # instructions
    Load: _form("load", when=ROW),
    Store: _form("store", value=ROW.bare, when=ROW, add=FLAG),
    Constant: _form("constant", text=TEXT.bare),
    Argument: _form("argument", name=NAME.bare),
    Index: _form("index", dim=DIM.bare),
    Number: _form("number", bound=BOUND.bare),
    State: _form("state", index=INT.bare),
    Advance: _form("advance", index=INT.bare, value=ROW.bare),
    Get: _form("get", register=INT.bare),
    Set: _form("set", register=INT.bare, value=ROW.bare),
}  # fmt: skip
BY_KEYWORD: Final[Mapping[str, type[Any]]] = {
    **{form.keyword: cls for cls, form in FORMS.items() if form.keyword},
    **dict.fromkeys(MEMORIES, Buffer),
    **dict.fromkeys(LOOPS, NestLoop),
}
