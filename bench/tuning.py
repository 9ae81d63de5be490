"""Whether tuning finds what was spoiled on purpose: compare it with an exhaustive search.

python bench/tuning.py [--points 192] [--levels 40] [--budget 120]

The model's file sets tiles of 2 points and recomputes what the cost model keeps in arrays. Costs
are seconds of the processor in one thread, which other processes disturb less than the clock.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

import fieldforge as ff
from fieldforge.workflows.options.database import use_options
from fieldforge.workflows.options.schema import schema_of
from fieldforge.workflows.tuning.bench import RealBench
from fieldforge.workflows.tuning.candidates import changed, decided_names
from fieldforge.workflows.tuning.subject import make_subject
from fieldforge.workflows.tuning.verdict import compared

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Levels = ff.Field[ff.Dims[I, J, K], ff.float64]
OPTIONS = ["tile_size", "arrays", "inline"]
ROUNDS = 15
LAST_ROUNDS = 60
CALLS = 3


@ff.field_operator
def laplacian(u: Levels) -> Levels:
    return 4.0 * u - (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1))


@ff.field_operator
def three(u: Levels) -> Levels:
    return laplacian(laplacian(laplacian(u)))


@ff.program
def smooth(u: Levels, out: Levels):
    three(u, out=out)


def main() -> None:
    """Tune, search exhaustively, and print both."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=192)
    parser.add_argument("--levels", type=int, default=40)
    parser.add_argument("--budget", type=float, default=120.0)
    given = parser.parse_args()
    n, k = given.points, given.levels
    u = ff.as_field(
        {I: (-3, n + 3), J: (-3, n + 3), K: k}, np.random.default_rng(1).random((n + 6, n + 6, k))
    )
    fields = {"u": u, "out": ff.zeros({I: n, J: n, K: k})}
    names = decided_names(smooth.with_backend("cpu").trace()["codegen"].loops)
    print(f"values of '{smooth.__name__}' that the cost model decided: {', '.join(names)}")
    with tempfile.TemporaryDirectory() as folder, ff.threads(1):
        model = Path(folder) / "model.toml"
        listed = ", ".join(f'"{name}"' for name in names)
        model.write_text(f"[[when]]\nset.tile_size = 2\nset.inline = [{listed}]\n")
        use_options(model)
        program = smooth.with_backend("cpu")
        begin = time.monotonic()
        report = ff.tune(
            program, fields, options=OPTIONS, budget=given.budget, cost=_seconds, progress="auto"
        )
        print(report)
        print(f"tuned in {time.monotonic() - begin:.0f} s")
        best, verdict = _exhaustive(program, fields, names, report.options)
    print(f"best of all: {dict(best)}; it is {verdict} times as fast as what tuning found")


def _exhaustive(program, fields, names, found):
    """Return the best of all combinations, and its time compared with that of `found`."""
    subject = make_subject(program, fields)
    bench = RealBench(subject, program.backend, _seconds, lambda: False, subject.expected())
    sizes = schema_of(program.backend)["codegen.tile_size"].tune
    subsets = [c for count in range(len(names) + 1) for c in itertools.combinations(names, count)]
    codes = {bench.source(found): found}
    for size, inline in itertools.product(sizes, subsets):
        rest = tuple(name for name in names if name not in inline)
        for arrays in {(), rest}:
            options = {"tile_size": size, "inline": inline, "arrays": arrays}
            choice = changed((), tuple((f"codegen.{name}", v) for name, v in options.items()))
            codes.setdefault(bench.source(choice), choice)
    choices = list(codes.values())
    ready = [choice for choice, why in zip(choices, bench.ready(choices), strict=True) if not why]
    rows = dict(zip(ready, bench.costs(ready, 5), strict=True))
    print(f"exhaustive: {len(ready)} different codes")
    nearest = sorted(ready, key=lambda choice: np.median(rows[choice]))[:4]
    rows = bench.costs([found, *nearest], ROUNDS)
    verdicts = {
        choice: compared(rows[0], row) for choice, row in zip(nearest, rows[1:], strict=True)
    }
    best = min(verdicts, key=lambda choice: verdicts[choice].ratio)
    # once more, since the best of many is also the luckiest
    return best, compared(*bench.costs([found, best], LAST_ROUNDS))


def _seconds(candidate) -> float:
    candidate.call()
    begin = time.thread_time()
    for _ in range(CALLS):
        candidate.call()
    return (time.thread_time() - begin) / CALLS


if __name__ == "__main__":
    main()
