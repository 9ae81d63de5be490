"""Programs on fields that lie otherwise in memory than ours, in turns in one process.

    python bench/halos.py --threads 1,2 [--cases diffusion] [--halo 3]

A model keeps halos around its fields, and computes inside of them: rows of results then begin
inside of a line of the caches. Arrays of NumPy have contiguous levels, where fields of
`as_field` have contiguous columns. All calls have the same numbers, and the same results. Writes
`results/<machine>/halos.json`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

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
from fieldforge.runtime.fields import make
from fieldforge.runtime.process.settings import set_current

CASES: Final = (
    "advection,diffusion,laplacians,vertical_advection,tridiagonal,saturation_adjustment,"
    "precipitation"
)
LARGE: Final = 1 << 20  # points of the first output; smaller ones stay in the caches
OURS, HALOS, NUMPY = "ours", "halos", "NumPy's"
Given: TypeAlias = Mapping[str, Any]  # arguments by name


@click.command(help=__doc__)
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default=CASES, help="names of programs on grids")
@click.option("--halo", default=3, help="points around each field")
@click.option("--rounds", default=7)
def main(threads: str, cases: str, halo: int, rounds: int) -> None:
    """Measure one program after the other."""
    kept = Results(folder(place("cpu")) / "halos.json", fresh=False)
    ratios: dict[str, list[float]] = {HALOS: [], NUMPY: []}
    for name, maker in chosen_cases(cases.split(",")).items():
        for dtype in ("float64", "float32"):
            case = maker(dtype, 1.0)
            if int(np.prod(case.arguments[case.outputs[0]].shape)) < LARGE:
                continue
            given = {OURS: _with_halos(case, 0), HALOS: _with_halos(case, halo)}
            given[NUMPY] = {key: _in_numpy(each) for key, each in case.arguments.items()}
            _compare(case, given)
            for count in map(int, threads.split(",")):
                use_threads(count)
                seconds = _seconds(case, given, rounds)
                row = {"program": name, "size": case.size, "dtype": dtype, "threads": count}
                kept.add({**row, "halo": halo, "seconds": seconds})
                for other, seen in ratios.items():
                    seen.append(seconds[other] / seconds[OURS])
                told = "  ".join(f"{other} {seen[-1]:.2f}" for other, seen in ratios.items())
                click.echo(
                    f"{name}  {dtype}  threads {count}  {1e3 * seconds[OURS]:.3g} ms  {told}"
                )
    kept.describe(machine=machine())
    for other, seen in ratios.items():
        if seen:
            click.echo(f"{other} / {OURS}: {geometric_mean(seen):.2f} in the geometric mean")


def _in_numpy(own: Any) -> Any:
    """Return a field over an array in the order of NumPy, without padding."""
    has_points = hasattr(own, "domain") and own.domain.dims
    return make(np.array(own.asnumpy(), order="C"), own.domain) if has_points else own


def _with_halos(case: Case, halo: int) -> Given:
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


def _call(case: Case, given: Given) -> Callable[[], object]:
    program: Any = case.program
    bound = program.with_backend(ff.cpu)
    return lambda: bound(**given, offset_provider=case.tables)


def _compare(case: Case, given: Mapping[str, Given]) -> None:
    """Call all, and compare what they write bit by bit."""
    for each in given.values():
        _call(case, each)()
    for name in case.outputs:
        meant, *others = (each[name].asnumpy().tobytes() for each in given.values())
        assert others == [meant] * len(others), f"the layout changes '{name}' of {case.name}"


def _seconds(case: Case, given: Mapping[str, Given], rounds: int) -> dict[str, float]:
    """Return the least seconds of a call with each of the arguments."""
    calls = {what: timed(_call(case, each)) for what, each in given.items()}
    found = in_turns(calls, Effort(rounds=rounds), lambda *_: None)
    return {what: min(each.get_values()) for what, each in found.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fieldforge-store-") as store:
        os.environ.setdefault("FIELDFORGE_CACHE_DIR", store)
        set_current(None)  # the definitions above have read the environment
        main()
