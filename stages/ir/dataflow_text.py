"""Print the dataflow IR as a readable listing, and parse it back.

    program diffuse(u, out)
    dimension I horizontal
    field u: [I] float64
    field out: [I] float64
    %0 = input u : [I] float64          on I: start(out, I) .. stop(out, I) + 1
    %1 = shift %0 I+1 : [I] float64     on I: start(out, I) .. stop(out, I)
    statement
      out[I: start(out, I) .. stop(out, I)] = %1
    read 0 u[I: start(out, I) + 1 .. stop(out, I) + 1]

The indented body of a scan follows its row and ends with the rows of the next state. The listing
defines bounds of tables, and long bounds, before the first row: `bound $0 = lowest(E2C, 0, n)`.
Names that are not chains of identifiers have quotes; a dimension that shares its name with another
has its kind behind it, `K[vertical]`. A leaf has its path (`field u at 1.0: ...`) only if its name
does not imply it. Equal programs have equal listings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ...runtime.language.dimension import Dimension
from .bounds import Bound, DomainSymbol, Ranges, parts
from .dataflow import Dataflow, Displace, Local, Read, Region, Scan, Shift
from .dataflow_names import Names, quoted, rows_of
from .dataflow_reader import Parts, natural_paths, read

WIDEST = 64  # the column of the boxes, unless a row is longer


class Listed(Protocol):
    """The content of a listing; `Lowered` implements it."""

    @property
    def program(self) -> Dataflow:
        """The program."""

    @property
    def boxes(self) -> tuple[Ranges, ...]:
        """The box of each value; empty before the pass that infers boxes."""

    @property
    def reads(self) -> tuple[Read, ...]:
        """The reads of each statement."""


def show(lowered: Listed) -> str:
    """Print a program, the box of each value, and the reads of its statements."""
    program = lowered.program
    names = Names(_dimensions(lowered))
    lines = [f"program {quoted(program.name)}({', '.join(map(quoted, program.parameters))})"]
    lines += [f"dimension {label} {dim.kind}" for dim, label in names.labels.items()]
    paths = natural_paths(program.parameters)
    lines += [names.leaf(leaf, paths(leaf.name)) for leaf in program.leaves]
    lines += map(names.table, program.tables)
    lines += names.definitions(_bounds(lowered))
    lines += _rows(lowered, names)
    for statement in program.statements:
        lines.append("statement")
        lines += map(names.store, statement.stores)
    for each in lowered.reads:
        where = f"read {each.statement} {quoted(each.name)}[{names.box(each.box)}]"
        lines.append(f"{where} pointwise" if each.pointwise else where)
    return "\n".join(lines) + "\n"


def _rows(lowered: Listed, names: Names) -> Iterator[str]:
    values = lowered.program.values
    rows = [f"%{row} = {names.value(value)}" for row, value in enumerate(values)]
    width = min(WIDEST, max(map(len, rows), default=0))
    for row, text in enumerate(rows):
        boxed = row < len(lowered.boxes)
        yield f"{text:{width}}  on {names.box(lowered.boxes[row])}" if boxed else text
        value = values[row]
        if isinstance(value, Scan):
            inside = enumerate(value.body.values)
            yield from (f"  %{inner} = {names.value(each)}" for inner, each in inside)
            yield f"  next{rows_of(value.body.results)}"


def parse(text: str) -> Parts:
    """Return program, boxes and reads of a listing; raise only `ValueError` for damaged text."""
    return read(text)


def _dimensions(lowered: Listed) -> Iterator[Dimension]:
    program = lowered.program
    for leaf in program.leaves:
        yield from leaf.dims
        yield from (each.dim for each in leaf.ranges)
    for table in program.tables:
        yield from (table.source, table.target, table.local)
    for value in program.values:
        yield from value.dims
        match value:
            case Shift() | Displace() | Local():
                yield value.dim
            case Region():
                yield from (side.dim for box in value.boxes for side in box)
            case Scan():
                yield value.axis
                yield from (dim for each in value.body.values for dim in each.dims)
    for box in _boxes(lowered):
        yield from (each.dim for each in box)
    for part in parts(*_bounds(lowered)):
        if isinstance(part, DomainSymbol):
            yield part.dim


def _boxes(lowered: Listed) -> Iterator[Ranges]:
    for statement in lowered.program.statements:
        for store in statement.stores:
            yield from (store.box, store.output.box)
    yield from lowered.boxes
    yield from (each.box for each in lowered.reads)


def _bounds(lowered: Listed) -> Iterator[Bound]:
    """Yield every bound of a program, in the order of the listing."""
    for value in lowered.program.values:
        match value:
            case Region():
                ends = (
                    end for box in value.boxes for side in box for end in (side.start, side.stop)
                )
                yield from (end for end in ends if end is not None)
            case Scan():
                yield from (value.start, value.stop)
    for box in _boxes(lowered):
        yield from (end for each in box for end in (each.start, each.stop))
