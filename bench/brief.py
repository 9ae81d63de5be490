"""Measure ours and the kernels by hand in a second a row, on a machine that is free for minutes.

    python bench/brief.py --threads 1,2,8,16 --cases diffusion,mpdata --seconds 60 [--others]

Kernels and programs are built side by side first. Writes rows to `results/<machine>/brief.json`, in
the order of the cases, until the seconds are over. With `--others`, Numba, JAX and pystencils
(`others/`) take turns with them, in processes of their own, where they know the program.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
import others.client
from agreement import compared, flat
from cases import chosen_cases
from cases.by_hand import library
from cases.case import Case
from figures import OURS, taken
from machine_tables.programs import by_hand
from machine_tables.text import milliseconds, ratio
from native import use_threads
from peer.client import RefusedError, described
from programs import DTYPES, row_of
from results import Results
from run import RESULTS, machine, place
from timing import PAUSE, GaveUpError, TimeCalls, timed

import fieldforge as ff

KERNELS = ("diffusion", "laplacians", "mpdata", "tridiagonal", "vertical_advection", "upwind")
CASES = "diffusion,advection,laplacians,tridiagonal,vertical_advection"


@attrs.frozen
class Built:
    """A case whose variants of this process are built and agree."""

    case: Case
    calls: dict[str, TimeCalls]
    expected: dict[str, np.ndarray]


# By the number of threads: what times the calls of other tools, and why a tool has none.
Beside = dict[int, tuple[dict[str, TimeCalls], dict[str, str]]]


@click.command()
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default=CASES)
@click.option("--seconds", default=60.0, help="no new row after so many")
@click.option("--rounds", default=9)
@click.option(
    "--others/--alone", "with_others", default=False, help="beside Numba, JAX, pystencils"
)
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
def main(
    threads: str, cases: str, seconds: float, rounds: int, with_others: bool, folder: Path
) -> None:
    """Measure rows until the time is over, and print the ratio of each."""
    end = time.monotonic() + seconds
    kept = Results(place(folder) / "brief.json", fresh=False)
    kept.describe(machine=machine())
    counts = [int(part) for part in threads.split(",")]
    makers = [
        functools.partial(m, d, 1.0)
        for m in chosen_cases(cases.split(",")).values()
        for d in DTYPES
    ]
    with ThreadPoolExecutor() as pool:
        list(pool.map(library, KERNELS))
    together = max(2, len(os.sched_getaffinity(0)))  # cases that are built before any is measured
    for first in range(0, len(makers), together):
        if time.monotonic() > end:
            return
        with contextlib.ExitStack() as stack:
            ready = functools.partial(_ready, stack, counts, with_others)
            # libgomp makes threads for each thread that calls a kernel; where they are more than
            # the processors, all of them sleep at each barrier. So these end before the first row.
            with ThreadPoolExecutor(together) as pool:
                made = list(pool.map(ready, makers[first : first + together]))
            for row in _rows(made, counts, rounds, end):
                kept.add(row)
                click.echo("  ".join(_line(row)))


def _rows(
    made: Sequence[tuple[Built, Beside]], counts: Sequence[int], rounds: int, end: float
) -> Iterator[dict[str, Any]]:
    """Yield the measured rows of some cases; none begins after the time `end`."""
    for built, beside in made:
        for count in counts:
            if time.monotonic() > end:
                return
            calls, refused = beside.get(count, ({}, {}))
            yield _row(built, calls, count, rounds) | {"refused": refused}


def _ready(
    stack: contextlib.ExitStack, counts: list[int], with_others: bool, make: Callable[[], Case]
) -> tuple[Built, Beside]:
    """Build a case, and with others its variants by other tools."""
    with MAKING:
        case = make()
    built = _built(case)
    return built, _beside(built, counts, stack) if with_others else {}


def _built(case: Case) -> Built:
    """Build ours; keep the kernels whose results agree."""
    program: Any = case.program
    compiled = program.with_backend(ff.cpu)

    def ours() -> None:
        compiled(**case.arguments, offset_provider=case.tables)

    ours()
    expected = {name: each.copy() for name, each in flat(case.arguments, case.outputs).items()}
    calls: dict[str, TimeCalls] = {"fieldforge": timed(ours)}
    for name, kernel in case.by_hand.items():
        if compared(expected, flat(kernel(), case.outputs), case.dtype)[0]:
            calls[f"by hand: {name}"] = timed(kernel)
    return Built(case, calls, expected)


def _beside(built: Built, counts: list[int], stack: contextlib.ExitStack) -> Beside:
    """Return the calls of the other tools, and why some have none, by the number of threads."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="others-")))
    told = described(built.case, folder)
    found: Beside = {count: ({}, {}) for count in counts}

    def add(tool: str, most: int, measured: Sequence[int]) -> None:
        own = folder / f"{tool}-{most}"
        own.mkdir()
        try:
            peer = stack.enter_context(others.client.started(tool, own, most))
            on, outputs = others.client.built(peer, tool, built.case.name, told)
            agrees, how = compared(built.expected, outputs, built.case.dtype)
            why = "" if agrees else f"computes something else: {how}"
        except RefusedError as error:
            why = str(error)
        for count in measured:
            if why:
                found[count][1][tool] = why
            else:
                found[count][0][tool] = on(count)

    with ThreadPoolExecutor() as pool:
        for tool in others.client.TOOLS:
            for most, measured in others.client.processes(tool, counts).items():
                pool.submit(add, tool, most, measured)
    return found


def _row(built: Built, others: dict[str, TimeCalls], count: int, rounds: int) -> dict[str, Any]:
    use_threads(count)
    calls = built.calls | others
    times: dict[str, list[float]] = {name: [] for name in calls}
    loops = _loops(calls["fieldforge"])
    for turn in range(rounds):  # each comes after another one: processors slow down while they wait
        for name, call in rotated(list(calls.items()), turn):
            time.sleep(PAUSE)
            with contextlib.suppress(GaveUpError):
                times[name].append(call(loops) / loops)
    figures = {
        name: {"median": float(np.median(each)), "least": min(each), "values": len(each)}
        for name, each in times.items()
        if each
    }
    return row_of(built.case, count, figures)


def rotated(calls: list[tuple[str, TimeCalls]], turn: int) -> list[tuple[str, TimeCalls]]:
    """Return the calls in their order, from another one on each time."""
    first = turn % len(calls)
    return calls[first:] + calls[:first]


def _loops(call: TimeCalls) -> int:
    """Return the calls of a value: a disturbance of microseconds must not decide one."""
    return max(FEWEST, round(VALUE * FEWEST / call(FEWEST)))


def cells(row: dict[str, Any]) -> list[str]:
    """Return what a line of a row shows: ours, and the best by hand over it."""
    shown = [row["program"], row["size"], row["dtype"], str(row["threads"])]
    ratios = (by_hand(row, kind) for kind in ("least", "median"))
    return [*shown, milliseconds(taken(row, OURS)), *map(ratio, ratios), str(row["load"])]


def _line(row: dict[str, Any]) -> list[str]:
    ours = row["times"][OURS]["least"]
    ratios = [
        f"{tool} {row['times'][tool]['least'] / ours:.2f}"
        for tool in others.client.TOOLS
        if tool in row["times"]
    ]
    return [*cells(row), *ratios, *(f"{tool}: {why}" for tool, why in row["refused"].items())]


FEWEST = 2  # calls of a value
VALUE = 1e-3  # seconds that a value takes at least
MAKING = threading.Lock()  # an example is imported for one precision at a time

if __name__ == "__main__":
    main()
