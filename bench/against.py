"""The bench cases by this checkout and by another one, in turns: what became faster or slower.

    python bench/against.py ../before --threads 1,2 [--cases diffusion,nabla2] [--scale 0.2]

Each checkout runs in a process of its own, with its `.venv` or, for a folder into which one was
installed, with our Python; both build every case and take turns. Prints a line for each case,
precision and number of threads, whether the bits are equal, and the geometric mean; with `--output`
the rows are kept as JSON. Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
from agreement import flat
from cases import all_cases, chosen_cases
from native import use_threads
from peer.client import Peer, RefusedError
from peer.serving import serve
from timing import TimeCalls, timed
from untuned_before import interpreter
from untuned_calls import own_store

import fieldforge as ff

DTYPES = ("float64", "float32")
VALUE = 0.02  # seconds that a value takes at least
PAUSE = 0.005  # lets the threads of the other process fall asleep


@click.command(help=__doc__)
@click.argument("before", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default="", help="names of cases; usually all")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=9)
@click.option("--seconds", default=3600.0, help="no new case after so many")
@click.option("--output", type=click.Path(path_type=Path), help="a file for the rows")
@click.option("--serve", "serves", is_flag=True, hidden=True)
def main(
    before: Path | None, threads: str, cases: str, dtypes: str, scale: float, rounds: int,
    seconds: float, output: Path | None, serves: bool,
) -> None:  # fmt: skip
    """Measure the chosen cases one after the other."""
    if serves:
        serve_cases()
        return
    if before is None:
        raise click.UsageError("Name the other checkout: 'python bench/against.py ../before'.")
    counts, rows = [int(part) for part in threads.split(",")], []
    names = list(chosen_cases(cases.split(",") if cases else []))
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        both = {"ours": _process(None, stack), "before": _process(before, stack)}
        for name in names:
            for dtype in dtypes.split(","):
                if time.monotonic() > end:
                    break
                try:
                    for row in _measured(both, (name, dtype, scale), counts, rounds):
                        rows.append(row)
                        click.echo(_line(row))
                        if output is not None:
                            output.write_text(json.dumps(rows, indent=1) + "\n")
                except RefusedError as error:  # the other cases still say something
                    click.echo(f"{name:40} {dtype}: {error}")
    if rows:
        mean = statistics.geometric_mean(row["ratio"] for row in rows)
        click.echo(f"before / ours, geometric mean of {len(rows)} rows: {mean:.3f}")


def _process(path: Path | None, stack: contextlib.ExitStack) -> Peer:
    python, settings = (
        (sys.executable, {"PYTHONPATH": os.environ.get("PYTHONPATH", "")})
        if path is None
        else interpreter(path)
    )
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="against-")))
    worker = (python, str(Path(__file__).resolve()), "--serve")
    return stack.enter_context(Peer(folder, 1, settings=settings, worker=worker))


def _measured(
    both: Mapping[str, Peer], case: tuple[str, str, float], counts: list[int], rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each number of threads."""
    name, dtype, scale = case
    built = {
        who: each.ask(do="build", name=name, dtype=dtype, scale=scale) for who, each in both.items()
    }
    same = built["ours"]["digest"] == built["before"]["digest"]
    for count in counts:
        for each in both.values():
            each.ask(do="threads", count=count)
        loops = max(1, round(VALUE / max(1e-6, both["ours"].ask(do="run", loops=1)["seconds"])))
        found: dict[str, list[float]] = {who: [] for who in both}
        for turn in range(rounds):
            for who in sorted(both, reverse=bool(turn % 2)):
                time.sleep(PAUSE)
                found[who].append(both[who].ask(do="run", loops=loops)["seconds"] / loops)
        times = {
            who: {"least": min(each), "median": statistics.median(each)}
            for who, each in found.items()
        }
        yield {
            "program": name, "dtype": dtype, "threads": count, "same_bits": same, "times": times,
            "size": built["ours"]["size"],
            "ratio": times["before"]["least"] / times["ours"]["least"],
        }  # fmt: skip


def _line(row: Mapping[str, Any]) -> str:
    ours, before = (1e3 * row["times"][who]["least"] for who in ("ours", "before"))
    medians = row["times"]["before"]["median"] / row["times"]["ours"]["median"]
    return (
        f"{row['program']:40} {row['dtype']} {row['threads']:2} threads: {ours:9.4g} ms,"
        f" before / ours {row['ratio']:.2f}, of medians {medians:.2f} ({before:.4g} ms)"
        + ("" if row["same_bits"] else ", other bits")
    )


def serve_cases() -> None:
    """Build and time cases as the process that compares asks."""
    made: dict[str, TimeCalls] = {}

    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "build":
                made.clear()
                case = all_cases()[request["name"]](request["dtype"], request["scale"])
                program: Any = case.program
                compiled = program.with_backend(ff.cpu)

                def call() -> None:
                    compiled(**case.arguments, offset_provider=case.tables)

                call()
                outputs = flat(case.arguments, case.outputs)
                digest = {
                    key: zlib.crc32(np.ascontiguousarray(each).view(np.uint8))
                    for key, each in outputs.items()
                }
                made["call"] = timed(call)
                return {"digest": digest, "size": case.size}
            case "threads":
                use_threads(request["count"])
                return {}
            case _:
                return {"seconds": made["call"](request["loops"])}

    with own_store():
        serve(answer)


if __name__ == "__main__":
    main()
