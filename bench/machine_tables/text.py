"""Tables of Markdown, and how their cells show times and ratios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NONE = "–"  # nothing was measured


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table, and an empty one."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def filled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table without the columns that are empty."""
    kept = [n for n in range(len(head)) if any(row[n] for row in rows)]
    yield from table([head[n] for n in kept], [[row[n] for n in kept] for row in rows])


def when(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the days on which rows were measured, and the load of the machine."""
    days = sorted({row["taken"] for row in rows})
    loads = sorted(row["load"] for row in rows)
    span = " to ".join(dict.fromkeys((days[0], days[-1])))
    return f"Measured {span}, load {loads[0]:g} to {loads[-1]:g}."


def threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def milliseconds(seconds: float | None) -> str:
    return NONE if seconds is None else f"{1e3 * seconds:.3g}"


def long_seconds(seconds: float | None) -> str:
    return NONE if seconds is None else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def ratio(number: float | None) -> str:
    return NONE if number is None else f"{number:.2f}"


def times(number: float | None) -> str:
    return NONE if number is None else f"{number:.3g}x"


def megabytes(number: float | None) -> str:
    return NONE if number is None else f"{1e-6 * number:.1f}"
