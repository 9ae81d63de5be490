"""Tables of the parts of `run.py` that are one table: calls, starts, builds, growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .text import table

Row = Mapping[str, Any]
MEASURED = ("ours", "ours, one point", "ours, arrays", "nanobind, nothing", "nanobind, arrays")
PEERS = ("gt4py", "gt4py -O")
TITLES = {
    "startup": "Start of a process, ms",
    "cold": "Cold builds, seconds",
    "large": "A program of 24 long operators, one unit or several",
    "growth": "Growth with the problem, ms",
}


def section(rows: Sequence[Row]) -> Iterator[str]:
    """Return the table of calls, with gt4py's times as multiples of ours."""
    yield "## Calls, ns on one thread\n"
    yield (
        "*Ours* is the whole call with a C function that does nothing, *one point* the compiled "
        "program on one point, *arrays* the call with NumPy arrays instead of fields. *nanobind* "
        "takes the same arguments without checks of ranges. *static*: one number is compiled in; "
        "*dictionary*: `program(**arguments)`.\n"
    )
    lines = []
    for row in rows:
        cells = [f"{row[name]:,.0f}" if row[name] else "" for name in MEASURED]
        cells += [f"{row[name] / row['ours']:,.0f}" if row[name] else "" for name in PEERS]
        lines.append([row["call"].replace("_", " "), *cells])
    yield from table(["call", *MEASURED, *(f"{name} / ours" for name in PEERS)], lines)


def plain(part: str, rows: Sequence[Row]) -> Iterator[str]:
    """Return the rows of another part as they are."""
    yield f"## {TITLES[part]}\n"
    lines = [[f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    yield from table(list(rows[0]), lines)
