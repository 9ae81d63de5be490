"""How much faster calls are with `effort`, on drawn programs that no rule was made for.

    python -m bench.planned --seeds 60:100              this CPU, one thread
    python -m bench.planned --quick                     ten programs of at most 1e5 points

The default and the planned code take turns; the least of many rounds counts. The default is there
twice, so that its two times tell the noise; equal code counts as the default. With one thread,
times are those for which the thread had a processor. Writes `planned-<class>-<threads>.json` in
`bench/results/<machine>/`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

os.environ.setdefault("FIELDFORGE_TIERS", "compiled")

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.stages.codegen.cpu.options import MACHINES
from fieldforge.workflows.builds.building import trace
from fieldforge.workflows.tuning.bench import RealBench
from fieldforge.workflows.tuning.subject import make_subject

from .regret_search import ProcessorTime
from .run import place

OURS: Final = 100  # seeds below are ours
ROUNDS: Final = 41
EFFORT: Final = (("codegen.effort", 2),)


def measured(
    seed: int, points: int, threads: int, machine: str | None, known: bool
) -> dict[str, Any]:
    """Return the seconds of a program with and without a plan."""
    effort = (*EFFORT, ("codegen.machine", machine))
    case = large_case(seed)
    threads = threads or _core.default_threads()
    _core.set_threads(threads)
    program = program_of(case).with_backend(ff.cpu)
    if known:
        program = program.with_compilation_options(static_domains=True)
    subject = make_subject(program, arguments_of(case, points, ff.cpu))
    cost = ProcessorTime() if threads == 1 else None
    bench = RealBench(subject, ff.cpu, cost, lambda: 3600.0, subject.expected())
    refusals = [each for each in bench.ready([(), effort]) if each]
    if refusals:
        raise ValueError(refusals[0])
    first, planned, again = map(min, bench.costs([(), effort, ()], ROUNDS))
    if bench.source(()) == bench.source(effort):  # the memory of one code may lie better
        first, again, planned = min(first, planned, again), planned, min(first, planned, again)
    return {
        "seed": seed, "points": points, "dtype": case.dtype, "levels": case.levels,
        "on": case.order if case.is_mesh else "grid", "threads": threads,
        "default": min(first, again), "planned": planned, "gain": min(first, again) / planned,
        "noise": max(first, again) / min(first, again), "machine": machine,
        "seconds": _seconds_of_plan(bench, dict(effort)),
        "notes": [line for line in bench.loops(effort).splitlines() if "planned:" in line],
    }  # fmt: skip


def _seconds_of_plan(bench: RealBench, effort: dict[str, Any]) -> float:
    """Return the processor time that planning adds to the code generator, the least of three."""
    found = []
    for options in ({}, effort):
        entry = bench.subject.on(ff.cpu.with_options(**options) if options else ff.cpu)
        variant = bench.subject.variant(entry)
        steps = trace(entry.__definition__, entry.backend, variant, "codegen")
        stage = dict(entry.backend.workflow.nodes)["codegen"]
        lowered = next(each.artifact for each in steps.values() if hasattr(each.artifact, "reads"))
        times = []
        for _ in range(3):
            begin = time.process_time()
            stage.run(lowered=lowered, variant=variant)
            times.append(time.process_time() - begin)
        found.append(min(times))
    return found[1] - found[0]


def shown(rows: list[dict[str, Any]]) -> Table:
    """Return the table of a run."""
    table = Table("seed", "on", "points", "type", "levels", "us", "planned us", "gain", "noise",
                  "planning s", "plan")  # fmt: skip
    for row in rows:
        note = row["notes"][0].partition("planned:")[2] if row["notes"] else ""
        table.add_row(
            *(str(row[key]) for key in ("seed", "on", "points", "dtype", "levels")),
            f"{1e6 * row['default']:.1f}", f"{1e6 * row['planned']:.1f}", f"{row['gain']:.2f}",
            f"{row['noise']:.2f}", f"{row['seconds']:.2f}", note,
        )  # fmt: skip
    return table


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean and the extremes of the gains.

    >>> summary([{"gain": 2.0, "noise": 1.0, "seconds": 0.1}, {"gain": 0.5, "noise": 1.1,
    ...     "seconds": 0.3}])["mean gain"]
    1.0
    """
    gains = np.array([row["gain"] for row in rows])
    return {
        "programs": float(len(rows)),
        "mean gain": float(np.exp(np.mean(np.log(gains)))),
        "least": float(gains.min()),
        "most": float(gains.max()),
        "slower by 3 %": float((gains < 0.97).sum()),
        "faster by 3 %": float((gains > 1.03).sum()),
        "median noise": float(np.median([row["noise"] for row in rows])),
        "median planning": float(np.median([row["seconds"] for row in rows])),
    }


@click.command(help=__doc__)
@click.option("--seeds", default="60:80", help="which programs, as first:stop, below 100")
@click.option("--threads", default=1, help="of the CPU; 0 for all")
@click.option("--most-points", default=1_000_000)
@click.option("--machine", type=click.Choice(MACHINES), help="plan for one class only")
@click.option("--known", is_flag=True, help="compile the domains of the fields in")
@click.option("--quick", is_flag=True, help="ten programs of at most 1e5 points")
def main(
    seeds: str, threads: int, most_points: int, machine: str | None, known: bool, quick: bool
) -> None:
    """Draw, build both, measure in turns, show."""
    console = Console(width=150)
    if quick:
        seeds, most_points = "60:70", 100_000
    first, stop = map(int, seeds.split(":"))
    rows = []
    for seed in range(first, min(stop, OURS)):
        points = min(large_case(seed).points, most_points)
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as alone:  # a crash ends one program only
            try:
                rows.append(alone.submit(measured, seed, points, threads, machine, known).result())
            except Exception as error:  # the next program can be measured
                console.print(f"{seed}: {type(error).__name__}: {str(error)[:200]}")
                continue
        console.print(
            f"{seed} {rows[-1]['gain']:.3f} noise {rows[-1]['noise']:.2f} {rows[-1]['notes']}"
        )
    kept = place() / f"planned-{machine or 'all'}-{threads}{'-known' * known}.json"
    kept.write_text(json.dumps({"rows": rows}) + "\n")
    console.print(shown(rows), summary(rows))


if __name__ == "__main__":
    main()
