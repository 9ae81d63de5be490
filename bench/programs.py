"""Every case by every variant, in both precisions, on one and two threads."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import attrs
import roof
import variants
from cases import MakeCase, chosen_cases
from cases.case import Case
from native import use_threads
from pyperf import Benchmark
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn as Elapsed,
)
from timing import Effort, in_turns
from variants import Variants

DTYPES = ("float64", "float32")
THREADS = (1, 2)

Row = dict[str, Any]
Say = Callable[[str], None]


@attrs.frozen
class Wish:
    """The options of a run: cases by name (all if none), the share of their size, the duration."""

    cases: Sequence[str] = ()
    scale: float = 1.0
    effort: Effort = attrs.field(factory=Effort)


def measure(wish: Wish, keep: Callable[[Row], None], console: Console) -> dict[str, Any]:
    """Give each finished row to `keep`, and return the roofs; Ctrl-C ends the run early."""
    cases = chosen_cases(wish.cases)
    roofs = [_roofs()]
    columns = (BarColumn(30), MofNCompleteColumn(), Elapsed(), TextColumn("{task.description}"))
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            steps = len(cases) * len(DTYPES)
            bar = progress.add_task("begin", total=steps)
            for name, make in cases.items():
                for dtype in DTYPES:
                    say = functools.partial(_tell, progress, bar, f"{name} {dtype}")
                    for row in _rows(make, dtype, wish, say):
                        keep(row)
                    progress.advance(bar)
        roofs.append(_roofs())
    except (KeyboardInterrupt, SystemExit):  # pyperf turns the one into the other
        console.print("Interrupted: what was measured so far is kept.")
    return higher(roofs)


def _rows(make: MakeCase, dtype: str, wish: Wish, say: Say) -> Iterator[Row]:
    """Measure one case in one precision, a row for each number of threads."""
    say("make the data")
    case = make(dtype, wish.scale)
    with tempfile.TemporaryDirectory(prefix="fieldforge-bench-") as scratch:
        use_threads(max(THREADS))
        say("build and check")
        try:
            ready = variants.prepared(case, Path(scratch))
        except Exception as error:  # a program that we cannot build has its row, too
            lost = Variants(refused={variants.OURS: f"{type(error).__name__}: {error}"})
            yield from (_row(case, threads, lost, {}) for threads in THREADS)
            return
        for threads in reversed(THREADS):
            with contextlib.ExitStack() as stack:
                found = variants.with_peers(ready, threads, stack, say)
                use_threads(threads)
                note = functools.partial(_note, say, threads)
                times = in_turns(found.calls, wish.effort, note)
            for name in found.calls.keys() - times.keys():
                found.refused[name] = "It ended while it was timed."
            yield _row(case, threads, found, times)


def _tell(progress: Progress, bar: TaskID, label: str, text: str) -> None:
    progress.update(bar, description=f"{label}: {text}")


def _note(say: Say, threads: int, turn: int, variant: str) -> None:
    say(f"{threads} threads, round {turn + 1}, {variant}")


def _row(case: Case, threads: int, found: Variants, times: dict[str, Benchmark]) -> Row:
    figures = {
        name: {
            "median": benchmark.median(),
            "least": min(benchmark.get_values()),
            "values": benchmark.get_nvalue(),
            "agrees": found.agrees[name],
        }
        for name, benchmark in times.items()
    }
    more = {"refused": found.refused, "built": found.built, "temporary": found.temporary}
    return row_of(case, threads, figures) | more


def row_of(case: Case, threads: int, times: dict[str, Any]) -> Row:
    """Describe a case beside the times of its variants."""
    return {
        "program": case.name,
        "size": case.size,
        "dtype": case.dtype,
        "threads": threads,
        "taken": date.today().isoformat(),
        "load": round(os.getloadavg()[0], 1),
        "moved": case.moved,
        "operations": case.operations,
        "times": times,
    }


def _roofs() -> dict[str, Any]:
    return {str(count): roof.measure(count) for count in THREADS}


def higher(roofs: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the best measurement before and after: a busy moment only lowers a roof."""
    best = roofs[0]
    for other in roofs[1:]:
        for threads, seen in other.items():
            best[threads]["bytes"] = max(best[threads]["bytes"], seen["bytes"])
            for dtype, rate in seen["operations"].items():
                best[threads]["operations"][dtype] = max(best[threads]["operations"][dtype], rate)
    return best
