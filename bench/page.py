"""The tables of docs/performance.md, written from the file of measured programs.

python bench/page.py        writes them again without measuring
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import figures
from figures import Row, best_by_hand, over_ours, rival, share_of_roof, taken
from variants import BY_HAND, DACE, GTFN, OURS

BEGIN = "<!-- programs: made by `make bench`; edits are lost -->"
END = "<!-- end of programs -->"
ROOT = Path(__file__).parent.parent
HEAD = (
    "program", "size", "ms", "by hand: ms", "variant", "by hand / ours", "medians",
    *(f"{name} / ours" for name in figures.RIVALS.values()), "of roof",
)  # fmt: skip


def write(document: dict[str, Any], path: Path) -> None:
    """Put the section of the programs between its two markers."""
    put(section(document), path, BEGIN, END)


def put(text: str, path: Path, begin: str, end: str) -> None:
    """Replace the text between two markers."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path.name} has no place for the figures between '{begin}' and '{end}'.")
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


def section(document: dict[str, Any]) -> str:
    """Return the whole section in Markdown."""
    return "\n".join(_lines(document))


def line(row: Row) -> str:
    """Return one line on a row, for the progress of the run."""
    hand = best_by_hand(row)
    parts = [
        f"{figures.label(row)} {row['dtype']}, {row['threads']} threads:",
        f"{_ms(taken(row, OURS))} ms, by hand {_ms(hand and hand[1])} ms,",
        *(
            f"{_times(over_ours(row, rival(row, name)))} {shown},"
            for name, shown in figures.RIVALS.items()
        ),
    ]
    return " ".join(parts).rstrip(",") + "".join(
        f"\n  refused: {name}: {why}" for name, why in row["refused"].items()
    )


def _lines(document: dict[str, Any]) -> Iterator[str]:
    roofs, machine = document["roofs"], document["machine"]
    days = sorted({row["taken"] for row in document["rows"]})
    yield f"Taken on {machine['processor']}, {' to '.join({days[0]: 0, days[-1]: 0})}."
    for threads, roof in roofs.items():
        rates = ", ".join(f"{1e-9 * r:.0f} GFLOP/s in {d}" for d, r in roof["operations"].items())
        yield f"Roofs, {_threads(int(threads))}: copy {1e-9 * roof['bytes']:.1f} GB/s, {rates}."
    yield ""
    yield "![Rooflines and ratios](../bench/results/programs.png)"
    for threads in (2, 1):
        for dtype in ("float64", "float32"):
            rows = [
                row
                for row in document["rows"]
                if (row["threads"], row["dtype"]) == (threads, dtype)
            ]
            if rows:
                yield f"\n### {dtype}, {_threads(threads)}\n"
                yield from _table(HEAD, [*(_cells(row, roofs) for row in rows), _means(rows)])
    yield from _memory_and_builds(document["rows"])
    yield from _left_out(document["rows"])


def _cells(row: Row, roofs: dict[str, Any]) -> list[str]:
    hand, median = best_by_hand(row), best_by_hand(row, "median")
    ours = taken(row, OURS)
    return [
        row["program"],
        row["size"],
        _ms(ours),
        _ms(hand and hand[1]),
        hand[0] if hand else "–",
        _ratio(over_ours(row, hand and hand[1])),
        _ratio(over_ours(row, median and median[1], "median")),
        *(_times(over_ours(row, rival(row, name))) for name in figures.RIVALS),
        _ratio(share_of_roof(row, roofs, ours)),
    ]


def _means(rows: Sequence[Row]) -> list[str]:
    def mean(of: Callable[[Row], float | None]) -> float | None:
        return figures.geometric_mean(map(of, rows))

    return [
        "*geometric mean*", "", "", "", "",
        _ratio(mean(lambda row: over_ours(row, (best_by_hand(row) or (0, None))[1]))),
        _ratio(mean(_ratio_of_medians)),
        *(
            _times(mean(lambda row, name=name: over_ours(row, rival(row, name))))
            for name in figures.RIVALS
        ),
        "",
    ]  # fmt: skip


def _ratio_of_medians(row: Row) -> float | None:
    return over_ours(row, (best_by_hand(row, "median") or (0, None))[1], "median")


def _memory_and_builds(rows: Sequence[Row]) -> Iterator[str]:
    names = (OURS, GTFN, DACE)
    head = ["program", "size", "type"]
    head += [f"{name}: MB" for name in names] + [f"{name}: s" for name in names]
    cells = []
    for row in rows:
        if row["threads"] == 2:
            sizes = [_megabytes(row["temporary"].get(name)) for name in names]
            seconds = [_seconds(row["built"].get(name)) for name in names]
            cells.append([row["program"], row["size"], row["dtype"], *sizes, *seconds])
    yield "\n### Memory for temporaries and cold builds\n"
    yield (
        "*MB* is by how much the resident memory grew at the peak of a call; *s* the time of the "
        "first call, all caches on disk empty: parse to load, and one run. 2 threads.\n"
    )
    yield from _table(head, cells)


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row["refused"].items():
            where = f"{row['program']} {row['size']} {row['dtype']}"
            found = reasons.setdefault(f"{name}: {' '.join(why.split())}", [])
            found += [where] if where not in found else []
        if not any(name.startswith(BY_HAND) for name in (*row["times"], *row["refused"])):
            reasons.setdefault("by hand: no kernel is written", []).append(
                f"{row['program']} {row['size']} {row['dtype']}"
            )
    if reasons:
        yield "\n### What could not be measured\n"
        for why, programs in reasons.items():
            yield f"* {why} ({', '.join(dict.fromkeys(programs))})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _ms(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.3g}"


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _ratio(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


def _times(number: float | None) -> str:
    return "–" if number is None else f"{number:.3g}x"


def _megabytes(number: float | None) -> str:
    return "–" if number is None else f"{1e-6 * number:.1f}"


if __name__ == "__main__":
    found = json.loads((ROOT / "bench" / "results" / "programs.json").read_text())
    write(found, ROOT / "docs" / "performance.md")
