"""Tables of `first.json`, `tiers.json` and `gtscript.json`: first results, tiers, GTScript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from figures import Row, geometric_mean

from .text import NONE, ratio, table, threads, when

WAYS = (
    "cold", "cold, compiled", "warm", "JAX, cold", "JAX, warm", "Numba, cold", "Numba, warm",
)  # fmt: skip
COMPILED, ROWS, EMBEDDED = "compiled", "rows", "embedded"
PAIRS = ((ROWS, COMPILED), (EMBEDDED, ROWS))
UNITS = {"first": "s", "many": "s", "step": "us", "calls": "us", "kernels": "ms"}


def first_section(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page of a machine says of first results."""
    rows = document["rows"]
    yield "## First result of a process\n"
    yield (
        f"{when(rows)} Milliseconds from the end of `import numpy`: least, median. *Cold*: the "
        "program was never built, the first tier runs it, and *compiled* waits for the compiler. "
        "*Warm*: an earlier process built it.\n"
    )
    lines = []
    for row in rows:
        times = [row["start"], row["numpy"], *(row["times"].get(way) for way in WAYS)]
        lines.append([f"{row['program']} {row['size']}", *map(_least_and_median, times)])
    yield from table(["program", "start of Python", "import numpy", *WAYS], lines)
    refused = dict(pair for row in rows for pair in row["refused"].items())
    yield from (f"* {way}: {why}" for way, why in refused.items())
    if refused:
        yield ""


def _least_and_median(times: Mapping[str, float] | None) -> str:
    return f"{1e3 * times['least']:.0f}, {1e3 * times['median']:.0f}" if times else NONE


def tiers_section(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page of a machine says of both tiers of calls."""
    rows = document["rows"]
    counts = sorted({row["threads"] for row in rows})
    yield "## Both tiers of calls\n"
    yield (
        f"{when(rows)} *rows*: the core interprets the program; *embedded*: NumPy, on one thread. "
        "Pairs are float64, float32.\n"
    )
    cases: dict[tuple[str, str], dict[tuple[int, str], Row]] = {}
    for row in rows:
        own = cases.setdefault((row["program"], row["size"]), {})
        own[row["threads"], row["dtype"]] = row
    lines = [
        [*case, *(_both(own, count, *pair) for pair in PAIRS for count in counts)]
        for case, own in cases.items()
    ]
    heads = [f"{above} / {below}: {threads(n)}" for above, below in PAIRS for n in counts]
    means = [
        ratio(geometric_mean(over(row, *pair) for row in rows if row["threads"] == count))
        for pair in PAIRS
        for count in counts
    ]
    yield from table(["program", "size", *heads], [*lines, ["*geometric mean*", "", *means]])


def over(row: Row, above: str, below: str) -> float | None:
    """Return the least time of one execution over that of another."""
    times = row["times"]
    return times[above]["least"] / times[below]["least"] if above in times else None


def _both(own: Mapping[tuple[int, str], Row], count: int, above: str, below: str) -> str:
    rows = (own.get((count, dtype)) for dtype in ("float64", "float32"))
    return ", ".join(ratio(over(row, above, below) if row else None) for row in rows)


def gtscript_section(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page of a machine says of GTScript beside gt4py."""
    yield "## GTScript beside gt4py\n"
    yield (
        "The best backend of each, named in brackets, on one thread. Calls have ten fields of "
        "6 x 6 x 4 points, kernels run on 128 x 128 x 80. *many*: each of stencils built together, "
        "a hundred of ours at once, a few of gt4py one by one.\n"
    )
    lines = []
    for part, key in measures(document["rows"]):
        ours, theirs = (best(document["rows"], part, tool, key) for tool in ("fieldforge", "gt4py"))
        if ours:
            of = NONE if theirs is None else f"{theirs[0] / ours[0]:.3g}"
            lines.append(
                [f"{part}: {key}", *(_named(each, UNITS[part]) for each in (ours, theirs)), of]
            )
    yield from table(["", "fieldforge", "gt4py", "gt4py / ours"], lines)


def _named(found: tuple[float, str] | None, unit: str) -> str:
    return NONE if found is None else f"{found[0]:.3g} {unit} ({found[1]})"


def measures(rows: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the parts and what each measured, in the order of `gtscript.py`."""
    found = dict.fromkeys(
        (name.partition(" ")[0], key)
        for name, row in rows.items()
        for key in row or ()
        if key != "stencils"
    )
    return sorted(found, key=lambda each: list(UNITS).index(each[0]))


def best(rows: Mapping[str, Any], part: str, tool: str, key: str) -> tuple[float, str] | None:
    """Return the least number of a tool, and its backend."""
    found = [
        (row[key] / row.get("stencils", 1), name.rpartition(" ")[2])
        for name, row in rows.items()
        if row and name.startswith(f"{part} {tool} ") and key in row
    ]
    return min(found, default=None)
