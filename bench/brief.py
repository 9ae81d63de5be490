"""Ours and the kernels by hand only, a second for each row: for machines that are lent for minutes.

    python bench/brief.py --threads 1,2,8,16 --cases diffusion,mpdata --seconds 60

Kernels and programs are built side by side first. Writes rows like those of `machines.py`, in the
order of the cases, until the seconds are over.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
from agreement import compared, flat
from cases import chosen_cases
from cases.by_hand import library
from cases.case import Case
from machines import cells
from native import use_threads
from programs import DTYPES, row_of
from results import Results
from run import RESULTS, machine
from timing import PAUSE

import fieldforge as ff
from fieldforge.runtime.calls.machine import processor

KERNELS = ("diffusion", "laplacians", "mpdata", "tridiagonal", "vertical_advection")


@click.command()
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default="diffusion,advection,laplacians,tridiagonal,vertical_advection")
@click.option("--seconds", default=60.0, help="no new row after so many")
@click.option("--rounds", default=9)
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
def main(threads: str, cases: str, seconds: float, rounds: int, folder: Path) -> None:
    """Measure rows until the time is over, and print the ratio of each."""
    end = time.monotonic() + seconds
    place = folder / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")
    place.mkdir(parents=True, exist_ok=True)
    kept = Results(place / "brief.json", fresh=False)
    kept.describe(machine=machine())
    counts = [int(part) for part in threads.split(",")]
    makers = chosen_cases(cases.split(","))
    with ThreadPoolExecutor() as pool:
        list(pool.map(library, KERNELS))
        jobs = [
            pool.submit(_built, make(dtype, 1.0)) for make in makers.values() for dtype in DTYPES
        ]
        for job in jobs:
            case, calls = job.result()
            for count in counts:
                if time.monotonic() > end:
                    return
                kept.add(_row(case, calls, count, rounds))
                click.echo("  ".join(cells(kept.rows[-1])))


def _built(case: Case) -> tuple[Case, dict[str, Callable[[], Any]]]:
    """Build ours; keep the kernels whose results agree."""
    program: Any = case.program
    compiled = program.with_backend(ff.cpu)

    def ours() -> None:
        compiled(**case.arguments, offset_provider=case.tables)

    ours()
    expected = flat(case.arguments, case.outputs)
    calls: dict[str, Callable[[], Any]] = {"fieldforge": ours}
    for name, kernel in case.by_hand.items():
        if compared(expected, flat(kernel(), case.outputs), case.dtype)[0]:
            calls[f"by hand: {name}"] = kernel
    return case, calls


def _row(
    case: Case, calls: dict[str, Callable[[], Any]], count: int, rounds: int
) -> dict[str, Any]:
    use_threads(count)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()
            begin = time.perf_counter()
            call()
            call()
            times[name].append((time.perf_counter() - begin) / 2)
    figures = {
        name: {"median": float(np.median(each)), "least": min(each), "values": len(each)}
        for name, each in times.items()
    }
    return row_of(case, count, figures)


if __name__ == "__main__":
    main()
