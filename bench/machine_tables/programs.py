"""Tables of `programs.json`: ours, kernels by hand, NumPy and gt4py, on one and two threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import figures
from figures import BY_HAND, DACE, GTFN, OURS, Row, best_by_hand, over_ours, rival, taken

from .text import long_seconds, megabytes, milliseconds, ratio, table, threads, times, when

HEAD = (
    "program", "size", "ms", "by hand: ms", "variant", "by hand / ours", "medians",
    *(f"{name} / ours" for name in figures.RIVALS.values()), "of roof",
)  # fmt: skip


def section(document: dict[str, Any]) -> Iterator[str]:
    """Return what the page of a machine says of its programs."""
    rows, roofs = document["rows"], document["roofs"]
    yield "## Programs beside kernels by hand, gt4py and NumPy\n"
    yield f"{when(rows)} *Medians* is by hand / ours by medians, the other ratios by least times.\n"
    for count, roof in roofs.items():
        rates = ", ".join(f"{1e-9 * r:.0f} GFLOP/s in {d}" for d, r in roof["operations"].items())
        yield f"* Roofs, {threads(int(count))}: copy {1e-9 * roof['bytes']:.1f} GB/s, {rates}."
    yield ""
    for count in (2, 1):
        for dtype in ("float64", "float32"):
            lines = cells(document, dtype, count)
            if lines:
                yield f"### {dtype}, {threads(count)}\n"
                yield from table(HEAD, lines)
    yield from _memory_and_builds(rows)
    yield from _left_out(rows)


def cells(document: dict[str, Any], dtype: str, count: int) -> list[list[str]]:
    """Return the cells of one precision and number of threads, and the means below them."""
    asked = (count, dtype)
    rows = [row for row in document["rows"] if (row["threads"], row["dtype"]) == asked]
    return [*(_cells(row, document["roofs"]) for row in rows), _means(rows)] if rows else []


def line(row: Row) -> str:
    """Return one line on a row, for the progress of the run."""
    hand = best_by_hand(row)
    parts = [
        f"{figures.label(row)} {row['dtype']}, {row['threads']} threads:",
        f"{milliseconds(taken(row, OURS))} ms, by hand {milliseconds(hand and hand[1])} ms,",
        *(
            f"{times(over_ours(row, rival(row, name)))} {shown},"
            for name, shown in figures.RIVALS.items()
        ),
    ]
    return " ".join(parts).rstrip(",") + "".join(
        f"\n  refused: {name}: {why}" for name, why in row["refused"].items()
    )


def _cells(row: Row, roofs: dict[str, Any]) -> list[str]:
    hand = best_by_hand(row)
    ours = taken(row, OURS)
    return [
        row["program"],
        row["size"],
        milliseconds(ours),
        milliseconds(hand and hand[1]),
        hand[0] if hand else "–",
        ratio(by_hand(row)),
        ratio(by_hand(row, "median")),
        *(times(over_ours(row, rival(row, name))) for name in figures.RIVALS),
        ratio(figures.share_of_roof(row, roofs, ours)),
    ]


def by_hand(row: Row, kind: str = "least") -> float | None:
    """Return the time of the best kernel by hand over ours."""
    hand = best_by_hand(row, kind)
    return over_ours(row, hand and hand[1], kind)


def _means(rows: Sequence[Row]) -> list[str]:
    def mean(of: Callable[[Row], float | None]) -> float | None:
        return figures.geometric_mean(map(of, rows))

    return [
        "*geometric mean*", "", "", "", "",
        ratio(mean(by_hand)),
        ratio(mean(lambda row: by_hand(row, "median"))),
        *(
            times(mean(lambda row, name=name: over_ours(row, rival(row, name))))
            for name in figures.RIVALS
        ),
        "",
    ]  # fmt: skip


def _memory_and_builds(rows: Sequence[Row]) -> Iterator[str]:
    names = (OURS, GTFN, DACE)
    head = ["program", "size", "type"]
    head += [f"{name}: MB" for name in names] + [f"{name}: s" for name in names]
    lines = []
    for row in rows:
        if row["threads"] == 2:
            sizes = [megabytes(row["temporary"].get(name)) for name in names]
            seconds = [long_seconds(row["built"].get(name)) for name in names]
            lines.append([row["program"], row["size"], row["dtype"], *sizes, *seconds])
    yield "### Memory for temporaries and cold builds\n"
    yield (
        "*MB* is the growth of the resident memory at the peak of a call, *s* the time of the "
        "first call with empty caches on disk, on 2 threads.\n"
    )
    yield from table(head, lines)


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        where = f"{row['program']} {row['size']} {row['dtype']}"
        for name, why in row["refused"].items():
            reasons.setdefault(f"{name}: {' '.join(why.split())}", []).append(where)
        if not any(name.startswith(BY_HAND) for name in (*row["times"], *row["refused"])):
            reasons.setdefault("by hand: no kernel is written", []).append(where)
    if reasons:
        yield "### What could not be measured\n"
        for why, programs in reasons.items():
            yield f"* {why} ({', '.join(dict.fromkeys(programs))})"
        yield ""
