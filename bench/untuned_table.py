"""The rows of the untuned programs as cells of a table, and the table for a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from cases.untuned import NAMES
from rich.table import Table

Row = Mapping[str, Any]
Ratio = Callable[[Row, str], float | None]

OURS, SPLIT, BEFORE, BY_HAND = "fieldforge", "split", "before", "by hand: "
HEAD = (
    "program", "size", "type", "threads", "ms", "by hand / ours", "split / ours", "before / ours",
    "build: s", "source: kB",
)  # fmt: skip


def by_hand(row: Row, kind: str) -> float | None:
    """Return the time of the fastest kernels by hand over ours."""
    times = [each[kind] for name, each in row["times"].items() if name.startswith(BY_HAND)]
    return min(times) / row["times"][OURS][kind] if times else None


def over_ours(name: str, row: Row, kind: str) -> float | None:
    """Return the time of a variant over ours."""
    times = row["times"]
    return times[name][kind] / times[OURS][kind] if name in times else None


RATIOS: Sequence[Ratio] = (by_hand, partial(over_ours, SPLIT), partial(over_ours, BEFORE))


def cells(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield a line for each row, then means for each precision and number of threads.

    Programs that are measured only if they are named take no part in means.
    """
    for row in rows:
        ours = f"{1e3 * row['times'][OURS]['least']:.3g}"
        first = [row["program"], row["size"], row["dtype"], str(row["threads"] or "")]
        yield [*first, ours, *(means([row], ratio) for ratio in RATIOS), *_builds(row)]
    usual = [row for row in rows if row["program"] in NAMES]
    for dtype, count in dict.fromkeys((row["dtype"], row["threads"]) for row in usual):
        own = [row for row in usual if (row["dtype"], row["threads"]) == (dtype, count)]
        found = [means(own, ratio) for ratio in RATIOS]
        yield ["*mean*", "", dtype, str(count or ""), "", *found, "", ""]


def means(rows: Sequence[Row], ratio: Ratio) -> str:
    """Return the geometric means of the ratios of least times and of medians."""
    found = [
        [each for row in rows if (each := ratio(row, kind)) is not None]
        for kind in ("least", "median")
    ]
    return " / ".join(f"{statistics.geometric_mean(each):.2f}" for each in found if each)


def _builds(row: Row) -> tuple[str, str]:
    built = [row["built"][name] for name in (OURS, BEFORE) if name in row.get("built", {})]
    seconds = " for ".join(f"{each['processor_s']:.2f}" for each in built)
    return seconds, " for ".join(f"{each['source_bytes'] / 1e3:.1f}" for each in built)


def table(rows: Sequence[Row]) -> Table:
    """Return the table for a terminal."""
    shown = Table(*HEAD)
    for each in cells(rows):
        shown.add_row(*each)
    return shown
