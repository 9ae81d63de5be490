"""Tables of `brief.json` and `others.json`: kernels by hand, Numba, JAX and pystencils."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from figures import Row, geometric_mean, over_ours, taken

from .programs import by_hand
from .text import milliseconds, ratio, table, threads, when

TOOLS = ("Numba", "JAX", "pystencils")
KINDS = ("least", "median")
ENOUGH = 0.85  # of the best by hand: what each program is to reach


def section(document: dict[str, Any], beside: dict[str, Any] | None = None) -> Iterator[str]:
    """Return what the page of a machine says; `beside` is another run with the other tools."""
    rows = document["rows"]
    counts = sorted({row["threads"] for row in rows})
    yield "## Programs on several numbers of threads\n"
    yield f"{when(rows)} By hand / ours, of least times / of medians; *mean* is geometric.\n"
    head = ["program", "type", *map(threads, counts), "ms, 1 thread"]
    yield from table(head, [*_by_hand(rows, counts), *_means(rows, counts)])
    yield from _misses(rows)
    yield from _beside((beside or document)["rows"], counts)


def _programs(rows: Sequence[Row]) -> dict[tuple[str, str], dict[int, Row]]:
    """Return the rows of each program and precision by the number of threads."""
    found: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        name = f"{row['program']} {row['size']}"
        found.setdefault((name, row["dtype"]), {})[row["threads"]] = row
    return found


def _by_hand(rows: Sequence[Row], counts: Sequence[int]) -> Iterator[list[str]]:
    for (name, dtype), by_count in _programs(rows).items():
        cells = [_both(by_count.get(count)) for count in counts]
        alone = taken(by_count[1], "fieldforge") if 1 in by_count else None
        yield [name, dtype, *cells, "" if alone is None else milliseconds(alone)]


def _means(rows: Sequence[Row], counts: Sequence[int]) -> Iterator[list[str]]:
    for dtype in ("float64", "float32"):
        cells = []
        for count in counts:
            own = [row for row in rows if (row["dtype"], row["threads"]) == (dtype, count)]
            means = [geometric_mean(by_hand(row, kind) for row in own) for kind in KINDS]
            cells.append(" / ".join(map(ratio, means)))
        yield ["*mean*", dtype, *cells, ""]


def _misses(rows: Sequence[Row]) -> Iterator[str]:
    """Name the rows that miss the goal by both measures, a program and type a line."""
    missed: dict[str, list[str]] = {}
    for row in rows:
        found = [each for kind in KINDS if (each := by_hand(row, kind)) is not None]
        if max(found, default=1.0) < ENOUGH:
            told = f"{found[0]:.2f} on {threads(row['threads'])}"
            missed.setdefault(f"{row['program']} {row['size']} {row['dtype']}", []).append(told)
    if missed:
        yield f"Below {ENOUGH} by least times and by medians:\n"
        yield from (f"* {program}: {', '.join(told)}" for program, told in missed.items())
        yield ""


def _beside(rows: Sequence[Row], counts: Sequence[int]) -> Iterator[str]:
    """Return the times of other tools over ours."""
    tools = [tool for tool in TOOLS if any(tool in row["times"] for row in rows)]
    if not tools:
        return
    yield f"The times of {', '.join(tools)} over ours; above 1 ours is faster.\n"
    cells = [
        [name, dtype, *(_tools(by_count.get(count), tools) for count in counts)]
        for (name, dtype), by_count in _programs(rows).items()
        if any(tool in row["times"] for row in by_count.values() for tool in tools)
    ]
    head = [f"{' / '.join(tools)}: {threads(count)}" for count in counts]
    yield from table(["program", "type", *head], cells)


def _tools(row: Row | None, tools: Sequence[str]) -> str:
    if row is None:
        return ""
    return " / ".join(ratio(over_ours(row, taken(row, tool))) for tool in tools)


def _both(row: Row | None) -> str:
    found = [by_hand(row, kind) for kind in KINDS] if row else []
    return " / ".join(f"{each:.2f}" for each in found if each is not None)
