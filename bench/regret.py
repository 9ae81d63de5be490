"""How much faster the best plan of a search is than the default, on drawn programs.

    python bench/regret.py --seeds 0:20 --trials 24            this CPU
    python bench/regret.py --quick                             a few small programs, in minutes
    python bench/regret.py --backend gpu --machine h200        a GPU
    python bench/regret.py --table                             what was kept, by machine

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
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("FIELDFORGE_TIERS", "compiled")

import attrs
import click
import numpy as np
from rich.console import Console
from rich.table import Table
from tests.generated.large import arguments_of, large_case, program_of

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.runtime.calls.machine import processor
from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.machine import CLASSES
from fieldforge.stages.codegen.plan.sizes import Sizes
from fieldforge.stages.sizes import Patches, ThreadBlock, ThreadPoints
from fieldforge.workflows.tuning.bench import SAMPLE, Candidate, RealBench
from fieldforge.workflows.tuning.candidates import Choice, changed
from fieldforge.workflows.tuning.predicted import plain, predicted, sizes_of
from fieldforge.workflows.tuning.subject import make_subject

RESULTS: Final = Path(__file__).parent / "results"
OURS: Final = 100  # seeds below are ours
ROUNDS: Final = 5
LAST_ROUNDS: Final = 15
FASTEST: Final = 4  # plans that are measured for longer
DECIDED: Final = re.compile(r"(%\d+) is (an array|computed in place)")

PASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": ("tile", "march", "slide", "prefetch", "stream", "unswitch"),
    "gpu": ("fuse", "widen", "hand_on", "patch", "load_ahead", "share_in_patches"),
}
OPTIONS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "cpu": {
        "jam": (False,), "tile_size": (8, 32, 128), "stream_from": (1 << 20, 1 << 40),
        "patches": (False, Patches(elements=2048, least_bytes=1)),
    },
    "gpu": {
        "points": (ThreadPoints(x=1), ThreadPoints(x=2), ThreadPoints(x=1, y=2)),
        "block": (ThreadBlock(x=64), ThreadBlock(x=32, y=8), ThreadBlock(x=256)),
        "column_block": (ThreadBlock(x=32), ThreadBlock(x=128)),
        "patches": (False, Patches(elements=96), Patches(elements=192, blocks=3)),
        "ahead": (-1,), "shared": (False,), "unaligned": (True, False), "land": (-1,),
    },
}  # fmt: skip


@attrs.frozen
class Trial:
    """A plan: what it changes, the seconds of a call, what was predicted, how long the code is."""

    choice: Choice
    seconds: float
    predicted: float
    text: int


def decisions(loops: str, kind: str, passes: Sequence[str], now: Choice) -> Iterator[Choice]:
    """Yield the plans that differ from one in a decision, in an order that mixes all kinds."""
    chosen = dict(now)
    names: dict[str, list[Choice]] = {"values": [], "options": [], "passes": []}
    for name, what in dict.fromkeys(DECIDED.findall(loops)):
        option, other = ("inline", "arrays") if what == "an array" else ("arrays", "inline")
        rest = tuple(each for each in chosen.get(f"codegen.{other}", ()) if each != name)
        own = tuple(dict.fromkeys((*chosen.get(f"codegen.{option}", ()), name)))
        changes = [(f"codegen.{option}", own)] + [(f"codegen.{other}", rest)] * bool(rest)
        names["values"].append(tuple(changes))
    for option, values in OPTIONS[kind].items():
        names["options"] += [
            ((f"codegen.{option}", v),) for v in values if chosen.get(f"codegen.{option}") != v
        ]
    for name in PASSES[kind]:
        left = tuple(each for each in chosen.get("codegen.passes", passes) if each != name)
        names["passes"].append((("codegen.passes", left),))
    kinds = [iter(each) for each in names.values()]
    while kinds:
        for each in list(kinds):
            found = list(islice(each, 2))
            yield from found
            if len(found) < 2:
                kinds.remove(each)


@attrs.define
class ProcessorTime:
    """Seconds of a call for which its one thread had a processor: others disturb them less."""

    calls: int = 0

    def __call__(self, candidate: Candidate) -> float:
        """Measure some calls."""
        candidate.subject.restore()
        candidate.call()
        self.calls = self.calls or max(1, min(1000, int(SAMPLE / max(self.of(candidate, 1), 1e-7))))
        return self.of(candidate, self.calls)

    def of(self, candidate: Candidate, calls: int) -> float:
        """Return the seconds of one of so many calls."""
        begin = time.thread_time()
        for _ in range(calls):
            candidate.call()
        return (time.thread_time() - begin) / calls


@attrs.define
class Hunt:
    """A search for the best plan of one program."""

    bench: RealBench
    kind: str
    machine: Any
    sizes: Sizes
    most: int
    trials: dict[Choice, Trial] = attrs.field(factory=dict)
    codes: dict[str, Choice] = attrs.field(factory=dict)

    def run(self) -> tuple[Trial, Trial, float]:
        """Return the default, the best plan, and the ratio of the default's two times."""
        refusal = self.bench.first([()])[0]
        if refusal:
            raise ValueError(refusal)
        passes = self.bench.backend.options["codegen.passes"]
        self.measure([()])
        while len(self.trials) < self.most:
            best = min(self.trials.values(), key=lambda trial: trial.seconds)
            loops = self.bench._generated(best.choice)[1]
            singles = (
                changed(best.choice, each)
                for each in decisions(loops, self.kind, passes, best.choice)
            )
            new = list(islice(self.new([*self.together(best), *singles]), self.most // 2))
            if not new:
                break
            self.measure(new[: self.most - len(self.trials)])
        return self.finished()

    def together(self, best: Trial) -> Iterator[Choice]:
        """Yield what the fastest plans change, two at a time and all, on the best one."""
        base = self.trials[()].seconds
        better = sorted(
            (each for each in self.trials.values() if each.seconds < 0.98 * base and each.choice),
            key=lambda trial: trial.seconds,
        )
        whole: Choice = ()
        for each in better[:4]:
            whole = changed(whole, each.choice)
            yield whole
            yield changed(best.choice, each.choice)

    def new(self, choices: Sequence[Choice]) -> Iterator[Choice]:
        """Yield the plans whose code was not tried."""
        self.codes.setdefault(self.bench.source(()), ())
        for choice in choices:
            try:
                code = self.bench.source(choice)
            except (ValueError, TypeError):
                continue
            if code not in self.codes and self.bench._generated(choice)[1]:
                self.codes[code] = choice
                yield choice

    def measure(self, choices: Sequence[Choice]) -> None:
        """Build plans at once and time them in turns with the default."""
        refusals = self.bench.ready(choices)
        kept = [each for each, why in zip(choices, refusals, strict=True) if not why]
        together = list(dict.fromkeys([(), *kept]))
        costs = self.bench.costs(together, ROUNDS)
        scale = 1.0
        if () in self.trials:  # the machine may be slower or faster than it was
            scale = self.trials[()].seconds / min(costs[0])
        for choice, row in zip(together, costs, strict=True):
            source, loops = self.bench._generated(choice)
            seconds = predicted(loops, self.sizes_of(choice), self.machine)
            if choice not in self.trials and row:
                self.trials[choice] = Trial(choice, scale * min(row), seconds, len(source))

    def sizes_of(self, choice: Choice) -> Sizes:
        """Return the sizes of a call, and what the code takes from an option alone."""
        return classes.evolve(self.sizes, stream_from=dict(choice).get("codegen.stream_from"))

    def finished(self) -> tuple[Trial, Trial, float]:
        """Measure the fastest plans for longer, the default twice among them."""
        order = sorted(self.trials.values(), key=lambda trial: trial.seconds)
        chosen = [each.choice for each in order[:FASTEST] if each.choice]
        costs = self.bench.costs([(), *chosen, ()], LAST_ROUNDS)
        first, *others, again = map(min, costs)
        default = attrs.evolve(self.trials[()], seconds=min(first, again))
        found = [
            attrs.evolve(self.trials[choice], seconds=seconds)
            for choice, seconds in zip(chosen, others, strict=True)
        ]
        best = min([default, *found], key=lambda trial: trial.seconds)
        return default, best, max(first, again) / min(first, again)


def rank_correlation(trials: Sequence[Trial]) -> float | None:
    """Return Spearman's coefficient of predicted and measured seconds; None for few plans.

    >>> rank_correlation([Trial((), n, 2.0 * n, 0) for n in range(1, 6)])
    1.0
    """
    if len(trials) < 4:
        return None
    ranks = []
    for kind in ("seconds", "predicted"):
        values = np.array([getattr(each, kind) for each in trials])
        # times that differ by less than noise, and predictions that are equal, have one rank
        values = np.round(np.log(values) / 0.02)
        ranks.append(np.array([(values < v).sum() + (values == v).sum() / 2 for v in values]))
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
        "rank": rank_correlation(found), "took": time.monotonic() - begin,
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
    name = (
        f"nvidia-{machine}"
        if kind == "gpu"
        else re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")
    )
    place = folder / name / ("regret.json" if not threads else f"regret-{threads}.json")
    place.parent.mkdir(parents=True, exist_ok=True)
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
        place.write_text(json.dumps({"trials": trials, "rows": rows}) + "\n")
    console.print(shown(rows, name), summary(rows))


if __name__ == "__main__":
    main()
