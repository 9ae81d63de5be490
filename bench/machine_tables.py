"""The tables of each machine: ours beside the best by hand, Numba, JAX and pystencils.

    python bench/machine_tables.py

Writes them from `results/<machine>/brief.json` into docs/performance.md. Where the machine has an
`others.json`, that run has the other tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import page
from figures import Row, best_by_hand, geometric_mean, over_ours, taken
from others.client import TOOLS

ROOT = Path(__file__).parent.parent
BEGIN = "<!-- machines: made by `make bench-others`; edits are lost -->"
END = "<!-- end of machines -->"
ENOUGH = 0.85  # of the best by hand: what each program is to reach


def main() -> None:
    """Write the tables of all machines, in the order of their names."""
    found = sorted((ROOT / "bench" / "results").glob("*/brief.json"))
    text = "\n".join(line for path in found for line in section(*documents(path)))
    page.put(text, ROOT / "docs" / "performance.md", BEGIN, END)


def documents(brief: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the run beside kernels by hand, and the run beside other tools; often the same."""
    others = brief.with_name("others.json")
    alone = json.loads(brief.read_text())
    return alone, json.loads(others.read_text()) if others.exists() else alone


def section(document: dict[str, Any], beside: dict[str, Any] | None = None) -> Iterator[str]:
    """Return what the page says of one machine; `beside` is another run with the other tools."""
    rows = document["rows"]
    counts = sorted({row["threads"] for row in rows})
    days = sorted({row["taken"] for row in rows})
    loads = sorted(row["load"] for row in rows)
    yield f"#### {document['machine']['processor']}\n"
    yield (
        f"Taken {' to '.join(dict.fromkeys((days[0], days[-1])))}, beside a load of {loads[0]:g} "
        f"to {loads[-1]:g}. By hand / ours, of least times / of medians; *mean* is geometric.\n"
    )
    head = ["program", "type", *(_threads(count) for count in counts), "ms, 1 thread"]
    yield from table(head, [*_by_hand(rows, counts), *_means(rows, counts)])
    yield from _misses(rows)
    yield from _beside((beside or document)["rows"], counts)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the lines of a table, and an empty one."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


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
        yield [name, dtype, *cells, "" if alone is None else f"{1e3 * alone:.3g}"]


def _means(rows: Sequence[Row], counts: Sequence[int]) -> Iterator[list[str]]:
    for dtype in ("float64", "float32"):
        own = [row for row in rows if row["dtype"] == dtype]
        cells = []
        for count in counts:
            chosen = [row for row in own if row["threads"] == count]
            means = [geometric_mean(ratio(row, kind) for row in chosen) for kind in KINDS]
            cells.append(" / ".join("–" if mean is None else f"{mean:.2f}" for mean in means))
        yield ["*mean*", dtype, *cells, ""]


def _misses(rows: Sequence[Row]) -> Iterator[str]:
    """Name the rows that miss the goal by both measures, a program and type a line."""
    missed: dict[str, list[str]] = {}
    for row in rows:
        if (_worst(row) or 1.0) < ENOUGH:
            told = f"{ratio(row, 'least'):.2f} on {_threads(row['threads'])}"
            missed.setdefault(f"{row['program']} {row['size']} {row['dtype']}", []).append(told)
    if missed:
        yield f"Below {ENOUGH} by least times and by medians:\n"
        yield from (f"* {program}: {', '.join(told)}" for program, told in missed.items())
        yield ""


def _worst(row: Row) -> float | None:
    return max((each for kind in KINDS if (each := ratio(row, kind)) is not None), default=None)


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
    head = [f"{' / '.join(tools)}: {_threads(count)}" for count in counts]
    yield from table(["program", "type", *head], cells)


def _tools(row: Row | None, tools: Sequence[str]) -> str:
    if row is None:
        return ""
    ratios = [over_ours(row, taken(row, tool)) for tool in tools]
    return " / ".join("–" if each is None else f"{each:.2f}" for each in ratios)


def ratio(row: Row, kind: str) -> float | None:
    """Return the time of the best by hand over ours."""
    hand = best_by_hand(row, kind)
    return over_ours(row, hand and hand[1], kind)


def _both(row: Row | None) -> str:
    ratios = [ratio(row, kind) for kind in KINDS] if row else []
    return " / ".join(f"{each:.2f}" for each in ratios if each is not None)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


KINDS = ("least", "median")

if __name__ == "__main__":
    main()
