"""Programs that no rule was made for, beside plain kernels by hand, in turns in one run.

    python bench/untuned.py --cpu --threads 1,2 --scale 0.1
    python bench/untuned.py --gpu --against ../before

Results are compared before anything is timed. `--against` takes another checkout with its `.venv`,
or a folder into which one was installed; it runs the same programs in a process of its own, in the
same turns. Cold builds are made in new processes on the host. A row goes to
`results/<machine>/untuned.json` as soon as it is there; Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import attrs
import click
from cases.untuned import FLAT, NAMES
from native import use_threads
from peer.client import RefusedError
from results import Results
from rich.console import Console
from run import RESULTS, machine, place as of_this_machine
from untuned_before import Before, build_once, cold, serve_calls
from untuned_calls import Place, TimeCalls, build, moved, own_store, place, stream, variants
from untuned_table import BEFORE, OURS, table

DTYPES = ("float64", "float32")
VALUE = 0.02  # seconds that a value takes at least


def in_turns(calls: Mapping[str, TimeCalls], rounds: int) -> dict[str, dict[str, float]]:
    """Measure each variant once in a round, beginning with another one each time."""
    loops = max(2, round(VALUE / max(1e-6, calls[OURS](1))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls.items())
    for turn in range(rounds):
        first = turn % len(order)
        for name, call in order[first:] + order[:first]:
            found[name].append(call(loops) / loops)
    return {
        name: {"least": min(each), "median": statistics.median(each), "values": len(each)}
        for name, each in found.items()
    }


@attrs.frozen
class Wish:
    """What to measure."""

    on: Place
    programs: Sequence[str]
    dtypes: Sequence[str]
    threads: Sequence[int | None]  # none on a GPU
    scale: float
    rounds: int
    against: Path | None
    builds: bool


def measured(wish: Wish, console: Console) -> Iterator[dict[str, Any]]:
    """Yield a row for each program, precision and number of threads."""
    with contextlib.ExitStack() as stack:
        before = None
        if wish.against is not None:
            before = Before(
                wish.against, wish.on, max(filter(None, wish.threads), default=1), stack
            )
        pairs = [(name, dtype) for name in wish.programs for dtype in wish.dtypes]
        for number, (name, dtype) in enumerate(pairs, 1):
            console.print(f"{number} of {len(pairs)}: {name} {dtype}", highlight=False)
            try:
                for row in _rows(name, dtype, wish, before):
                    console.print(_line(row), markup=False, highlight=False)
                    yield row
            except Exception as error:  # the other programs still say something
                console.print(f"{type(error).__name__}: {error}", markup=False)


def _rows(name: str, dtype: str, wish: Wish, before: Before | None) -> Iterator[dict[str, Any]]:
    built = build(name, dtype, wish.on, wish.scale)
    calls, refused = variants(built, wish.on)
    row: dict[str, Any] = {
        "program": name, "size": built.of.space.size, "dtype": dtype, "moved": moved(built.of),
        "taken": date.today().isoformat(), "refused": refused,
    }  # fmt: skip
    if before is not None:
        try:
            calls[BEFORE], row["same_bits"] = before.variant(built, wish.scale)
        except RefusedError as error:  # the others still say something
            refused[BEFORE], before = str(error), None
    if wish.builds:
        row["built"] = {OURS: cold(name, dtype, None, wish.on)}
        if before is not None:
            row["built"][BEFORE] = cold(name, dtype, wish.against, wish.on)
    for count in wish.threads:
        if count is not None:
            use_threads(count)
            if before is not None:
                before.use_threads(count)
        times = in_turns(calls, wish.rounds)
        yield row | {"threads": count, "load": round(os.getloadavg()[0], 2), "times": times}


def _line(row: Mapping[str, Any]) -> str:
    """Return the least times of a row, and what stands against it."""
    times = ", ".join(f"{name} {1e3 * each['least']:.4g} ms" for name, each in row["times"].items())
    refused = "".join(f"; {name}: {why}" for name, why in row["refused"].items())
    return times + refused + ("" if row.get("same_bits", True) else "; other bits than before")


def folder(on: Place) -> Path:
    """Return the folder of this machine's results."""
    if on.name == "gpu":
        return RESULTS / on.device.replace(" ", "-").lower()
    return of_this_machine()


@click.command(help=__doc__)
@click.option("--cpu", "where", flag_value="cpu", default=True)
@click.option("--gpu", "where", flag_value="gpu")
@click.option(
    "--programs",
    default=",".join(NAMES),
    help="names of programs; there are " + " and ".join(FLAT) + " besides",
)
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--threads", default="1,2", help="numbers of threads, on a CPU")
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=9)
@click.option("--against", type=click.Path(exists=True, path_type=Path), help="another checkout")
@click.option("--builds/--no-builds", default=None, help="time cold builds; usual on CPUs")
@click.option("--output", type=click.Path(path_type=Path), help="the file of results")
@click.option("--serve", "serves", is_flag=True, hidden=True)
@click.option("--build", "only", hidden=True)
def main(
    where: str, programs: str, dtypes: str, threads: str, scale: float, rounds: int,
    against: Path | None, builds: bool | None, output: Path | None, serves: bool, only: str | None,
) -> None:  # fmt: skip
    """Measure, keep each row, and print the table."""
    on = place(where)
    if serves:
        serve_calls(on)
        return
    if only is not None:
        click.echo(json.dumps(build_once(*only.split(","), on)))
        return
    counts = [None] if where == "gpu" else [int(part) for part in threads.split(",")]
    wish = Wish(
        on, programs.split(","), dtypes.split(","), counts, scale, rounds, against,
        where == "cpu" if builds is None else builds,
    )  # fmt: skip
    path = output or folder(on) / "untuned.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept, console, rows = Results(path, fresh=False), Console(width=150), []
    kept.describe(machine=machine() | ({"device": on.device} if on.device else {}))
    with contextlib.suppress(KeyboardInterrupt), own_store(), stream(on):
        for row in measured(wish, console):
            kept.add(row)
            rows.append(row)
    console.print(table(rows))


if __name__ == "__main__":
    main()
