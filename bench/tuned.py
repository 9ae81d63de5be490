"""How near `tune` comes, in its minute, to the best of ten times as many trials.

    python -m bench.tuned --seeds 0:6 --threads 1          drawn programs on this CPU
    python -m bench.tuned --table                          what was kept, by machine

`tune` has a budget of seconds. A search of `bench/regret_search.py` then tries ten times as many
plans, however long that takes: decisions, what was faster together, and pairs by chance. The plan
of `tune` takes turns with its best one and with the default. Writes `tuned.json` in
`bench/results/<machine>/`. Seeds from 100 on are for whoever checks it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final

os.environ.setdefault("FIELDFORGE_TIERS", "compiled")

import attrs
import click
from rich.console import Console
from rich.table import Table
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.stages.codegen.plan.machine import CLASSES
from fieldforge.workflows.tuning.bench import RealBench
from fieldforge.workflows.tuning.candidates import Choice, joined
from fieldforge.workflows.tuning.refit import sizes_of
from fieldforge.workflows.tuning.subject import make_subject

from .regret import OURS
from .regret_search import LAST_ROUNDS, Hunt, ProcessorTime
from .run import RESULTS, place as of_this_machine

TIMES: Final = 10  # as many trials as `tune` made
PAIRS: Final = 100  # that are drawn at a time


@attrs.define
class Wider(Hunt):
    """A search that also changes two decisions at a time."""

    random: Random = attrs.field(factory=lambda: Random(0))

    def neighbours(self, choice: Choice) -> Sequence[Choice]:
        """Return the plans that differ from one in a decision, and some of those in two."""
        singles = super().neighbours(choice)
        now = {**self.bench.backend.options, **dict(choice)}
        pairs = (self.random.sample(singles, 2) for _ in range(PAIRS if len(singles) > 1 else 0))
        return [*singles, *(joined(one, other, now) for one, other in pairs)]


def row_of(seed: int, points: int, threads: int, machine: str, budget: float) -> dict[str, Any]:
    """Tune a program, search for longer, and measure both plans and the default in turns."""
    _core.set_threads(threads)
    case = large_case(seed)
    program = program_of(case).with_backend(ff.cpu)
    arguments = arguments_of(case, points, ff.cpu)
    cost = ProcessorTime() if threads == 1 else None
    begin = time.monotonic()
    report = ff.tune(program, arguments, budget=budget, cost=cost, progress=None)
    took = time.monotonic() - begin
    subject = make_subject(program, arguments)
    bench = RealBench(subject, ff.cpu, cost, lambda: 3600.0, subject.expected())
    sizes = sizes_of(subject.arguments, subject.provider, threads)
    most = TIMES * max(1, len(report.trials))
    hunt = Wider(bench, "cpu", CLASSES[machine], sizes, most)
    _, best, _ = hunt.run()
    plans = [(), report.options, best.choice]
    bench.ready(plans)
    default, tuned, found = (min(row) for row in bench.costs(plans, LAST_ROUNDS))
    return {
        "seed": seed, "points": points, "dtype": case.dtype, "threads": threads,
        "on": case.order if case.is_mesh else "grid", "default": default, "tuned": tuned,
        "best": found, "ratio": tuned / min(default, tuned, found), "budget": budget,
        "took": took, "tried": len(report.trials), "trials": len(hunt.trials),
        "plans": [[[name, repr(value)] for name, value in plan] for plan in plans[1:]],
    }  # fmt: skip


def shown(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Return the table of a run, with its means in the caption."""
    ratios = [row["ratio"] for row in rows]
    mean = statistics.geometric_mean(ratios)
    caption = f"tuned over best: {mean:.3f} in the mean, {max(ratios):.3f} at worst"
    table = Table("seed", "on", "points", "type", "ms", "tuned", "best", "ratio", "tried", "trials",
                  title=title, caption=caption)  # fmt: skip
    for row in rows:
        table.add_row(
            *(str(row[key]) for key in ("seed", "on", "points", "dtype")),
            *(f"{1e3 * row[key]:.3f}" for key in ("default", "tuned", "best")),
            f"{row['ratio']:.3f}", str(row["tried"]), str(row["trials"]),
        )  # fmt: skip
    return table


@click.command(help=__doc__)
@click.option("--seeds", default="0:6", help="which programs, as first:stop, below 100")
@click.option("--budget", default=60.0, help="seconds of `tune`")
@click.option("--machine", default="epyc", type=click.Choice(sorted(CLASSES)))
@click.option("--threads", default=1)
@click.option("--most-points", default=1_000_000)
@click.option("--table", is_flag=True, help="show what was kept")
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
def main(
    seeds: str, budget: float, machine: str, threads: int, most_points: int, table: bool,
    folder: Path,
) -> None:  # fmt: skip
    """Tune, search, compare, keep."""
    console = Console(width=150)
    if table:
        for path in sorted(folder.glob("*/tuned*.json")):
            console.print(shown(json.loads(path.read_text())["rows"], path.parent.name))
        return
    first, stop = map(int, seeds.split(":"))
    kept = of_this_machine(folder) / "tuned.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for seed in range(first, min(stop, OURS)):
        points = min(large_case(seed).points, most_points)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
            rows.append(alone.submit(row_of, seed, points, threads, machine, budget).result())
        kept.write_text(json.dumps({"rows": rows}) + "\n")
        console.print(shown(rows, kept.parent.name))


if __name__ == "__main__":
    main()
