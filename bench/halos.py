"""Programs on fields with halos beside the same on fields without, in turns in one process.

    python bench/halos.py --threads 1,2 [--cases diffusion] [--halo 3]

A model keeps halos around its fields, and computes inside of them: rows of results then begin
inside of a line of the caches. Both calls have the same numbers, and the same results. Writes
`results/<machine>/halos.json`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Final

import click
import numpy as np
from cases import chosen_cases
from cases.case import Case
from figures import geometric_mean
from native import use_threads
from results import Results
from run import machine
from timing import Effort, in_turns, timed
from untuned import folder
from untuned_calls import place

import fieldforge as ff
from fieldforge.runtime.process.settings import set_current

CASES: Final = (
    "advection,diffusion,laplacians,vertical_advection,tridiagonal,saturation_adjustment,"
    "precipitation"
)
LARGE: Final = 1 << 20  # points of the first output; smaller ones stay in the caches


@click.command(help=__doc__)
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default=CASES, help="names of programs on grids")
@click.option("--halo", default=3, help="points around each field")
@click.option("--rounds", default=7)
def main(threads: str, cases: str, halo: int, rounds: int) -> None:
    """Measure one program after the other."""
    kept = Results(folder(place("cpu")) / "halos.json", fresh=False)
    ratios = []
    for name, make in chosen_cases(cases.split(",")).items():
        for dtype in ("float64", "float32"):
            case = make(dtype, 1.0)
            if int(np.prod(case.arguments[case.outputs[0]].shape)) < LARGE:
                continue
            given = {count: _with_halos(case, count) for count in (0, halo)}
            _compare(case, given)
            for count in map(int, threads.split(",")):
                use_threads(count)
                plain, around = _seconds(case, given, rounds)
                row = {"program": name, "size": case.size, "dtype": dtype, "threads": count}
                kept.add({**row, "halo": halo, "seconds": plain, "seconds with halos": around})
                ratios.append(around / plain)
                click.echo(f"{name}  {dtype}  threads {count}  {1e3 * plain:.3g} ms  "
                           f"halos / none {ratios[-1]:.2f}")  # fmt: skip
    kept.describe(machine=machine())
    if ratios:
        click.echo(f"halos / none: {geometric_mean(ratios):.2f} in the geometric mean")


def _with_halos(case: Case, halo: int) -> Mapping[str, Any]:
    """Return arguments whose fields lie inside of larger ones, where a halo is around them."""

    def inside(own: Any) -> Any:
        if not hasattr(own, "domain") or not own.domain.dims:
            return own
        ends = {
            dim: (each.start, each.stop)
            for dim, each in zip(own.domain.dims, own.domain.ranges, strict=True)
        }
        flat = [dim for dim in ends if dim.kind is ff.DimensionKind.HORIZONTAL]
        wide = {
            dim: (a - halo, b + halo) if dim in flat else (a, b) for dim, (a, b) in ends.items()
        }
        made = ff.zeros(wide, own.dtype, allocator=ff.cpu)
        for dim in flat:
            made = made[dim(ends[dim][0]) : dim(ends[dim][1])]
        made[...] = own
        return made

    return {name: inside(each) for name, each in case.arguments.items()}


def _call(case: Case, given: Mapping[str, Any]) -> Callable[[], object]:
    program: Any = case.program
    bound = program.with_backend(ff.cpu)
    return lambda: bound(**given, offset_provider=case.tables)


def _compare(case: Case, given: Mapping[int, Mapping[str, Any]]) -> None:
    """Call both, and compare what they write bit by bit."""
    for each in given.values():
        _call(case, each)()
    for name in case.outputs:
        one, other = (each[name].asnumpy().tobytes() for each in given.values())
        assert one == other, f"halos change '{name}' of {case.name}"


def _seconds(case: Case, given: Mapping[int, Mapping[str, Any]], rounds: int) -> list[float]:
    """Return the least seconds of a call without halos and of one with halos."""
    calls = {f"halo {count}": timed(_call(case, each)) for count, each in given.items()}
    found = in_turns(calls, Effort(rounds=rounds), lambda *_: None)
    return [min(each.get_values()) for each in found.values()]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fieldforge-store-") as store:
        os.environ.setdefault("FIELDFORGE_CACHE_DIR", store)
        set_current(None)  # the definitions above have read the environment
        main()
