"""The text form of the loop IR as one table, by which `text.py` prints and `reader.py` reads.

A line is a keyword, the bare fields in their order, and the other fields by name if they differ
from their defaults: `gpu block 32, 2 ahead 8 asked %5, %6`. What a field holds may follow as lines
of their own, further in. A reason ends the line as a comment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal as OneOf, TypeAlias

from ....runtime.process import classes
from ..bounds import PatchMember, PatchOrder
from ..listing_forms import (
    BOUND,
    DIM,
    INT,
    NAME,
    RANGE,
    ROW,
    TEXT,
    Kind,
    many,
    together,
    within,
)
from .buffers import Buffer
from .column import Column, Get, If, Set, Sweep, While
from .cpu import CpuMarks, Cut, Portions, Tiles
from .gpu import Columns, ColumnTile, GpuMarks, Landed, Landing, Long, Patches, RowTiles
from .group import Member
from .kernel import Group, Loop, Node, Step
from .nest import (
    Advance,
    Argument,
    Constant,
    Each,
    Index,
    Instruction,
    Load,
    Nest,
    NestLoop,
    Number,
    Reading,
    State,
    Store,
)

# A field whose values have lines of their own: their types, and whether there are many, at most
# one, or nodes that are one body.
Held: TypeAlias = tuple[str, type[Any] | tuple[type[Any], ...], OneOf["many", "maybe", "body"]]


@classes.frozen
class Form:
    """The text form of a class: a keyword, or that in field `said`, and its fields."""

    keyword: str
    fields: Mapping[str, Kind]
    held: tuple[Held, ...] = ()
    said: str = ""


def _form(keyword: str, *held: Held, said: str = "", **fields: Kind) -> Form:
    return Form(keyword, fields, held, said)


FLAG: Final = Kind(lambda *_: "", lambda *_: True)
BOOL: Final = Kind(lambda _, value: str(value).lower(), lambda _, line: line.name() == "true")
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
        slot=INT, over=NAME, order=DIMS, box=BOX,
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
    Sweep: _form("sweep", ("acts", (Instruction, Sweep, If, While), "many"), range=RANGE.bare,
                 backward=FLAG),
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
    GpuMarks: _form("gpu", block=INTS, points=INTS, blocks=INT, unaligned=FLAG, masked=FLAG,
                    usual=FLAG, reciprocals=FLAG, ahead=INT, asked=ROWS),
    Landed: _form("land", buffer=NAME.bare, offsets=OFFSETS.bare, dtype=NAME.bare, room=NAME),
    Landing: _form("landing", ("landed", Landed, "many"), rounds=INT, ahead=INT),
    ColumnTile: _form("room", dtype=NAME.bare, source=NAME, offsets=OFFSETS, filled=RANGE,
                      holds=NAMES, written=many(together(NAME, RANGE))),
    RowTiles: _form("rows", ("tiles", ColumnTile, "many"), columns=INT, first_level=BOUND,
                    pitch=BOUND),
    Long: _form("long", levels=BOUND, rest=BOUND, outside=RANGE),
    Columns: _form("columns", ("load", (Landing, RowTiles, Long), "maybe"),
                   ("scans", Nest, "many"), arrays=NAMES, threads=INT, needed=BOUND, most=INT,
                   blocks=INT, keeps=FLAG),
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
