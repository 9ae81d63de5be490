"""Measure nests of a mesh in portions of patches, nest by nest and by hand, in turns.

    python bench/portions.py --threads 1,2,8,16 --seconds 150

Writes `results/<machine>/portions.json` and its table in docs/performance.md (`--table` writes only
that). A row is added only if portions give the same bits as nest by nest.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import click
import lists_made
import numpy as np
import page
from agreement import compared, flat
from cases import icon_like, mesh, velocity
from cases.case import Case
from native import use_threads
from programs import DTYPES
from run import RESULTS, machine

import fieldforge as ff
from fieldforge.examples import icosahedral
from fieldforge.runtime.calls.machine import processor

BEGIN = "<!-- portions: made by `python bench/portions.py`; edits are lost -->"
END = "<!-- end of portions -->"
ONE_BY_ONE, PORTIONS = "nest by nest", "in portions"
CASES: tuple[tuple[Any, icosahedral.Order], ...] = (
    (velocity.velocity_tendency, "breadth-first"),
    (mesh.nabla2, "breadth-first"),
    (icon_like.icon_like, "breadth-first"),
    (velocity.velocity_tendency, "curve"),
    (mesh.nabla2, "curve"),
    (icon_like.icon_like, "curve"),
)
BY_HAND = (
    "streamed, prefetched", "streamed, prefetched by strips", "sweep",
    "three passes, streamed, prefetched", "tiles of 512, prefetched",
)  # fmt: skip
Call = Callable[[], Any]


@click.command()
@click.option("--threads", default="1,2")
@click.option("--rounds", default=9)
@click.option("--seconds", default=120.0, help="no new row after so many")
@click.option("--scale", default=1.0)
@click.option("--table", is_flag=True, help="write the table of what was measured")
def main(threads: str, rounds: int, seconds: float, scale: float, *, table: bool) -> None:
    """Measure rows until the time is over."""
    if table:
        write_table()
        return
    end = time.monotonic() + seconds
    file = RESULTS / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-") / "portions.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for make, order in CASES:
        for dtype in DTYPES:
            case = make(dtype, scale, order)
            tables = mesh.mesh_of(scale, order).connectivities()
            calls, first = _calls(case, dtype, tables)
            for count in map(int, threads.split(",")):
                if time.monotonic() > end:
                    return
                what = {"program": case.name, "size": case.size, "order": order, "dtype": dtype}
                times = _times(calls, count, rounds)
                rows.append({**what, "threads": count, "first": first, "times": times})
                click.echo(" ".join(_cells(rows[-1])))
                document = {"machine": machine(), "rows": rows}
                file.write_text(json.dumps(document, indent=1) + "\n")


def _calls(case: Case, dtype: str, tables: Mapping[str, Any]) -> tuple[dict[str, Call], float]:
    """Return the calls by name, and how many seconds longer the first call with `tables` takes."""

    def ours(
        patches: ff.Patches | Literal[False], provider: Mapping[str, Any] = case.tables
    ) -> Call:
        program: Any = case.program
        compiled = program.with_backend(ff.cpu.with_options(patches=patches))
        return lambda: compiled(**case.arguments, offset_provider=provider)

    calls = {ONE_BY_ONE: ours(False), PORTIONS: ours(ff.Patches())}
    calls[ONE_BY_ONE]()
    expected = {name: each.copy() for name, each in flat(case.arguments, case.outputs).items()}
    calls[PORTIONS]()
    for name, each in flat(case.arguments, case.outputs).items():
        assert np.array_equal(each, expected[name]), name
    words, seconds = _lists(ours(ff.Patches(), tables))
    by_hand = {name: each for name, each in case.by_hand.items() if name in BY_HAND}
    if case.name == "nabla2":
        by_hand["in portions, our lists"] = mesh.nabla2_in_portions(case, words)
    for name, kernel in by_hand.items():
        if compared(expected, flat(kernel(), case.outputs), dtype)[0]:
            calls[f"by hand: {name}"] = kernel
    return calls, seconds


def _lists(call: Call) -> tuple[np.ndarray, float]:
    """Return the lists that a first call makes, and how many seconds longer it takes."""
    times = [time.perf_counter()]
    with lists_made.watched() as found:
        for _ in range(2):
            call()
            times.append(time.perf_counter())
    return np.frombuffer(found[-1], np.uint32), times[1] - times[0] - (times[2] - times[1])


def _times(calls: dict[str, Call], count: int, rounds: int) -> dict[str, dict[str, float]]:
    use_threads(count)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        names = [*calls][turn % len(calls) :] + [*calls][: turn % len(calls)]
        for name in names:
            calls[name]()
            began = time.perf_counter()
            calls[name]()
            calls[name]()
            times[name].append((time.perf_counter() - began) / 2)
    return {
        name: {"least": min(each), "median": float(np.median(each))} for name, each in times.items()
    }


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (row["program"], row["size"], row["order"], row["dtype"], str(row["threads"]))
    least = {name: each["least"] for name, each in row["times"].items()}
    yield f"{1e3 * least[ONE_BY_ONE]:.3g}"
    yield f"{1e3 * least[PORTIONS]:.3g}"
    medians = row["times"][PORTIONS]["median"] / row["times"][ONE_BY_ONE]["median"]
    yield f"{least[PORTIONS] / least[ONE_BY_ONE]:.2f} / {medians:.2f}"
    hand = {name.removeprefix("by hand: "): t for name, t in least.items() if "by hand" in name}
    best = min(hand, key=hand.__getitem__, default="")
    yield f"{hand[best] / least[PORTIONS]:.2f} ({best})" if best else "–"


def write_table() -> None:
    """Write what the files of all machines say."""
    head = ("program", "size", "numbering", "type", "threads", "nest by nest: ms",
            "in portions: ms", "of the time, least / medians", "best by hand / ours")  # fmt: skip
    lines = []
    for file in sorted(RESULTS.glob("*/portions.json")):
        document = json.loads(file.read_text())
        lines += [f"{document['machine']['processor']}:", "", f"| {' | '.join(head)} |"]
        lines += [f"|{' --- |' * len(head)}"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in document["rows"]]
        lines += [""]
    page.put("\n".join(lines), page.ROOT / "docs" / "performance.md", BEGIN, END)


if __name__ == "__main__":
    main()
