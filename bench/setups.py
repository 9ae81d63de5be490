"""What set-ups cost: a model of 100 programs from a warm store, after import, and a call.

python bench/setups.py [--programs 100] [--profile]

A module of that many programs is written and built once; each further process imports fieldforge,
then the module, sets all up in a plan, and builds the plan from the store.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = """
import fieldforge as ff
I = ff.Dimension("I")
K = ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)
Slab = ff.Field[ff.Dims[I, K], ff.float64]
PROGRAMS = []
"""
ONE = """
@ff.field_operator
def operator_{n}(u: Slab, v: Slab, dt: float, flag: bool) -> Slab:
    rise = u(I + 1) - u(I - 1)
    return v + dt * {n}.0 * rise if flag else v - dt * rise * {n}.0

@ff.program
def program_{n}(u: Slab, v: Slab, dt: float, flag: bool, out: Slab,
                west: ff.int32, east: ff.int32, top: ff.int32, bottom: ff.int32):
    operator_{n}(u, v, dt, flag, out=out, domain={{I: (west, east), K: (top, bottom)}})
PROGRAMS.append(program_{n})
"""
RUN = """
import sys, time
import numpy, attrs
import fieldforge as ff
ff.program, ff.where, ff.ones, ff.setup, ff.plan, ff.cpu.workflow
ff.use_options({options!r})
begin = time.perf_counter(), time.process_time()
import setups_model as model
decorated = time.perf_counter(), time.process_time()
u, v, out = (ff.ones({{model.I: 34, model.K: 20}}) for _ in range(3))
with ff.plan() as plan:
    steps = [
        ff.setup(
            program,
            backend="cpu",
            horizontal_sizes={{"west": ff.int32(1), "east": ff.int32(33)}},
            vertical_sizes={{"top": ff.int32(0), "bottom": ff.int32(20)}},
            constant_args={{"v": v, "dt": 0.5}},
            variants={{"flag": [True]}},
        )
        for program in model.PROGRAMS
    ]
made = time.perf_counter(), time.process_time()
plan.build(progress=None)
end = time.perf_counter(), time.process_time()
steps[0](u, True, out)
times = [begin, decorated, made, end]
print(*(f"{{b[k] - a[k]:.4f}}" for k in (0, 1) for a, b in zip(times, times[1:])))
"""


def main() -> None:
    """Build once, then print the seconds of each part."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        text = HEAD + "".join(ONE.format(n=n) for n in range(given.programs))
        (path / "setups_model.py").write_text(text)
        (path / "model.toml").write_text(
            "".join(f'[[when]]\nprogram = "program_{n}"\nset.jam = false\n\n' for n in range(20))
        )
        (path / "run.py").write_text(RUN.format(options=str(path / "model.toml")))
        kept = os.environ.get("FIELDFORGE_BENCH_STORE") or str(path / "store")
        variables = {**os.environ, "FIELDFORGE_CACHE_DIR": kept}
        _run(path, variables)  # fills the store
        rows = [_run(path, variables) for _ in range(given.runs)]
        for name, columns in (("wall", (0, 1, 2)), ("processor", (3, 4, 5))):
            import_, set_up, build = (statistics.median(row[c] for row in rows) for c in columns)
            print(
                f"{name:<10} decorators {import_:.3f} s, set-ups {set_up:.3f} s, build "
                f"{build:.3f} s, together {import_ + set_up + build:.3f} s"
            )
        if given.profile:
            words = [sys.executable, "-m", "cProfile", "-s", "tottime", "run.py"]
            done = subprocess.run(
                words, cwd=path, env=variables, check=True, capture_output=True, text=True
            )
            print("\n".join(done.stdout.splitlines()[:70]))


def _run(path: Path, variables: dict[str, str]) -> list[float]:
    done = subprocess.run(
        [sys.executable, "run.py"], cwd=path, env=variables, check=True, capture_output=True,
        text=True,
    )  # fmt: skip
    return [float(word) for word in done.stdout.split()]


if __name__ == "__main__":
    main()
