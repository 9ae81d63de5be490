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

The indented body of a scan or column follows its row, and ends with the rows of a scan's next
state. The listing defines bounds of tables, and long bounds, before the first row:
`bound $0 = lowest(E2C, 0, n)`. Names that are not chains of identifiers have quotes; a dimension
that shares its name with another has its kind behind it, `K[vertical]`. A leaf has its path
(`field u at 1.0: ...`) only if its name does not imply it. Equal programs have equal listings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .bounds import Ranges
from .column_rows import Column
from .dataflow import Dataflow, Leaf, Read, Scan, Value
from .dataflow_names import Names, natural_paths, quoted, rows_of
from .listing_forms import READ, STORE, TABLE, VALUES, written

if TYPE_CHECKING:  # who prints reads nothing
    from .dataflow_reader import Parts

WIDEST = 64  # the column of the boxes, unless a row is longer


def show(program: Dataflow, boxes: tuple[Ranges, ...] = (), reads: tuple[Read, ...] = ()) -> str:
    """Print a program, the box of each value if they are known, and the reads of its statements."""
    names = Names((program, boxes, tuple(each.box for each in reads)))
    lines = [f"program {quoted(program.name)}({', '.join(map(quoted, program.parameters))})"]
    lines += [f"dimension {label} {dim.kind}" for dim, label in names.labels.items()]
    paths = natural_paths(program.parameters)
    lines += [_leaf(names, leaf, paths(leaf.name)) for leaf in program.leaves]
    lines += [f"table {written(names, TABLE, table)}" for table in program.tables]
    lines += names.definitions()
    lines += _rows(program, boxes, names)
    for statement in program.statements:
        lines.append("statement")
        lines += [f"  {written(names, STORE, store)}" for store in statement.stores]
    lines += [f"read {written(names, READ, each)}" for each in reads]
    return "\n".join(lines) + "\n"


def _leaf(names: Names, leaf: Leaf, natural: tuple[int, ...]) -> str:
    where = "" if leaf.path == natural else f" at {'.'.join(map(str, leaf.path))}"
    known = f" on {names.box(leaf.ranges)}" if leaf.ranges else ""
    return f"{leaf.kind} {quoted(leaf.name)}{where}: {names.type(leaf)}{known}"


def _value(names: Names, value: Value) -> str:
    return f"{written(names, VALUES[type(value)], value)} : {names.type(value)}"


def _rows(program: Dataflow, boxes: tuple[Ranges, ...], names: Names) -> Iterator[str]:
    rows = [f"%{row} = {_value(names, value)}" for row, value in enumerate(program.values)]
    width = min(WIDEST, max(map(len, rows), default=0))
    for row, text in enumerate(rows):
        yield f"{text:{width}}  on {names.box(boxes[row])}" if row < len(boxes) else text
        value = program.values[row]
        if isinstance(value, Scan):
            yield from _inside(names, value.body.values, value.body.results)
        elif isinstance(value, Column):
            yield from _inside(names, value.body, ())


def _inside(names: Names, body: tuple[Value, ...], results: tuple[int, ...]) -> Iterator[str]:
    yield from (f"  %{row} = {_value(names, each)}" for row, each in enumerate(body))
    yield f"  next{rows_of(results)}"


def parse(text: str) -> Parts:
    """Return program, boxes and reads of a listing; raise only `ValueError` for damaged text."""
    from .dataflow_reader import read

    return read(text)
