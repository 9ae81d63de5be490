"""How much faster the best plan of a search is than the default, on drawn programs.

    python -m bench.regret --seeds 0:20 --trials 24            this CPU
    python -m bench.regret --quick                             a few small programs, in minutes
    python -m bench.regret --backend gpu --machine h200        a GPU
    python -m bench.regret --table                             what was kept, by machine

A program is drawn by `tests/generated/large.py`. From the default on, each trial changes one
decision: a value to an array or back, sizes, passes. Then what was faster is put together. Equal
code is tried once. The fastest plans and the default, twice, take turns for longer: the two times
of the default tell the noise. Each trial is kept with its predicted seconds, so that a run gives
regret, the rank correlation of predicted and measured times, and the data for `doctor --model`.
Writes `regret.json` in `bench/results/<machine>/`. Seeds from 100 on are for whoever checks it.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
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
from fieldforge.stages.codegen.plan.machine import CLASSES
from fieldforge.workflows.tuning.bench import RealBench
from fieldforge.workflows.tuning.refit import plain, sizes_of
from fieldforge.workflows.tuning.subject import make_subject

from .regret_search import Hunt, ProcessorTime, Trial
from .run import RESULTS, place as of_this_machine

NOISE: Final = 0.03  # of measured times at least, as a logarithm
EQUAL: Final = 0.005  # predictions
OURS: Final = 100  # seeds below are ours


def rank_correlation(trials: Sequence[Trial], noise: float = 1.0) -> float | None:
    """Return Spearman's coefficient of predicted and measured seconds; None for few plans.

    Times that differ by less than noise have one rank, and so have predictions that hardly differ.

    >>> rank_correlation([Trial((), n, 2.0 * n, 0) for n in range(1, 6)])
    1.0
    >>> rank_correlation([Trial((), 1 + n / 100, 2.0 * n, 0) for n in range(1, 6)], 1.1)
    """
    if len(trials) < 4:
        return None
    ranks = []
    for kind, least in (("seconds", max(NOISE, np.log(noise))), ("predicted", EQUAL)):
        values = np.log([getattr(each, kind) for each in trials])
        lower = values[:, None] - least > values
        same = abs(values[:, None] - values) <= least
        ranks.append(lower.sum(1) + same.sum(1) / 2)
    if any(np.ptp(each) == 0 for each in ranks):
        return None
    return round(float(np.corrcoef(ranks)[0, 1]), 4)


def regret_of(
    seed: int, points: int, threads: int, kind: str, machine: Any, trials: int,
    listings: Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Search for the best plan of a program, and return its row."""
    case, backend = large_case(seed), ff.gpu if kind == "gpu" else ff.cpu
    threads = threads or _core.default_threads()
    _core.set_threads(threads)
    program = program_of(case).with_backend(backend)
    given = arguments_of(case, points, backend)
    subject = make_subject(program, given)
    begin = time.monotonic()
    expected = {} if kind == "gpu" else subject.expected()
    cost = ProcessorTime() if kind == "cpu" and threads == 1 else None
    bench = RealBench(subject, backend, cost, lambda: 3600.0, expected)
    if kind == "gpu":
        bench.expected = _own_results(subject, backend)
    sizes = sizes_of(subject.arguments, subject.provider, threads)
    hunt = Hunt(bench, kind, machine, sizes, trials)
    default, best, noise = hunt.run()
    found = list(hunt.trials.values())
    if listings is not None:
        _keep(listings, hunt, case.seed)
    return {
        "seed": case.seed, "points": points, "dtype": case.dtype, "levels": case.levels,
        "on": case.order if case.is_mesh else "grid", "threads": threads,
        "default": default.seconds, "best": best.seconds, "regret": default.seconds / best.seconds,
        "noise": noise, "choice": [[name, repr(value)] for name, value in best.choice],
        "rank": rank_correlation(found, hunt.noise), "took": time.monotonic() - begin,
        "trials": [[each.seconds, each.predicted, each.text] for each in found],
    }  # fmt: skip


def _keep(folder: Path, hunt: Hunt, seed: int) -> None:
    """Write what predictions are made of and what was measured, a line for each trial."""
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(folder / f"{seed}.jsonl.gz", "wt") as file:
        for trial in hunt.trials.values():
            loops = hunt.bench._generated(trial.choice)[1]
            row = {
                "loops": loops,
                "sizes": plain(hunt.sizes_of(trial.choice)),
                "seconds": trial.seconds,
            }
            file.write(json.dumps(row | {"choice": repr(trial.choice)}) + "\n")


def _own_results(subject: Any, backend: Any) -> Any:
    subject.restore()
    subject.call(backend)()
    subject.synchronise()
    return subject.results()


def shown(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Return the table of a run, and its means at the end."""
    table = Table("seed", "on", "points", "type", "levels", "threads", "ms", "best ms", "regret",
                  "noise", "rank", "trials", "choice", title=title)  # fmt: skip
    for row in rows:
        rank = "" if row["rank"] is None else f"{row['rank']:.2f}"
        choice = ", ".join(f"{name.rpartition('.')[2]}={value}" for name, value in row["choice"])
        table.add_row(
            *(str(row[key]) for key in ("seed", "on", "points", "dtype", "levels", "threads")),
            f"{1e3 * row['default']:.3f}", f"{1e3 * row['best']:.3f}", f"{row['regret']:.2f}",
            f"{row['noise']:.2f}", rank, str(len(row["trials"])), choice[:60],
        )  # fmt: skip
    return table


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means of a run.

    >>> row = {"regret": 1.21, "noise": 1.0, "rank": 0.5, "trials": [[2.0, 1.0, 9]]}
    >>> summary([row])["median rank"], round(summary([row])["error"], 2)
    (0.5, 0.69)
    """
    regrets = np.array([row["regret"] for row in rows])
    ranks = np.array([row["rank"] for row in rows if row["rank"] is not None] or [np.nan])
    errors = np.array([np.log(each[0] / each[1]) for row in rows for each in row["trials"]])
    first = np.array([row["trials"][0][0] / _fastest(row) for row in rows])
    chosen = np.array([_by_prediction(row) / _fastest(row) for row in rows])
    return {
        "programs": float(len(rows)),
        "mean regret": _mean(regrets),
        "worst regret": float(regrets.max()),
        # of the trials as they were first measured: the default, and the best prediction
        "default": _mean(first),
        "by prediction": _mean(chosen),
        "median noise": float(np.median([row["noise"] for row in rows])),
        "median rank": float(np.median(ranks)),
        "least rank": float(ranks.min()),
        "error": float(np.sqrt(np.mean(errors**2))),
    }


def _fastest(row: Mapping[str, Any]) -> float:
    return float(min(seconds for seconds, *_ in row["trials"]))


def _by_prediction(row: Mapping[str, Any]) -> float:
    """Return the seconds of the plan that is predicted to be the fastest."""
    return float(min(row["trials"], key=lambda trial: trial[1])[0])


def _mean(ratios: Any) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


@click.command(help=__doc__)
@click.option("--seeds", default="0:20", help="which programs, as first:stop, below 100")
@click.option("--trials", default=24, help="plans of a program")
@click.option("--backend", "kind", default="cpu", type=click.Choice(["cpu", "gpu"]))
@click.option("--machine", default="epyc", type=click.Choice(sorted(CLASSES)))
@click.option("--threads", default=0, help="of the CPU; all by default")
@click.option("--most-points", default=3_000_000)
@click.option("--larger", default=1, help="how many times as many points as were drawn")
@click.option("--seconds", default=0.0, help="begin no program after so many")
@click.option("--quick", is_flag=True, help="five programs of at most 1e5 points, 12 trials")
@click.option("--table", is_flag=True, help="show what was kept")
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--listings", type=click.Path(path_type=Path), help="keep the loops of each trial")
def main(
    seeds: str, trials: int, kind: str, machine: str, threads: int, most_points: int,
    larger: int, seconds: float, quick: bool, table: bool, folder: Path, listings: Path | None,
) -> None:  # fmt: skip
    """Draw, search, keep, show."""
    console = Console(width=150)
    if table:
        for path in sorted(folder.glob("*/regret*.json")):
            rows = json.loads(path.read_text())["rows"]
            console.print(shown(rows, path.parent.name), summary(rows))
        return
    if quick:
        seeds, trials, most_points = "0:5", 12, 100_000
    first, stop = map(int, seeds.split(":"))
    place = folder / f"nvidia-{machine}" if kind == "gpu" else of_this_machine(folder)
    place.mkdir(parents=True, exist_ok=True)
    kept = place / ("regret.json" if not threads else f"regret-{threads}.json")
    begin, rows = time.monotonic(), []
    one = partial(
        regret_of,
        threads=threads,
        kind=kind,
        machine=CLASSES[machine],
        trials=trials,
        listings=listings,
    )
    for seed in range(first, min(stop, OURS)):
        case = large_case(seed)
        if seconds and time.monotonic() - begin > seconds:
            break
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as alone:  # a crash ends one program only
            try:
                row = alone.submit(one, seed, min(larger * case.points, most_points)).result()
            except (ff.errors.FieldforgeError, ValueError, BrokenProcessPool) as error:
                console.print(f"{seed}: {type(error).__name__}: {str(error)[:200]}")
                continue
        rows.append(row)
        console.print(
            f"{seed} {row['on']} {row['points']} {row['dtype']}: {1e3 * row['default']:.3f} ms,"
            f" regret {row['regret']:.2f}, noise {row['noise']:.2f}, rank {row['rank']},"
            f" {row['took']:.0f} s, {row['choice']}"
        )
        kept.write_text(json.dumps({"trials": trials, "rows": rows}) + "\n")
    console.print(shown(rows, place.name), summary(rows))


if __name__ == "__main__":
    main()
