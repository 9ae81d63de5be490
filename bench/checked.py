"""Measure the cost of checked calls: programs with and without checks in turn, and embedded.

python bench/checked.py [--scale 0.5] [--rounds 15] [--threads 1] [CASE ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from cases import chosen_cases

import fieldforge as ff
from fieldforge.runtime.embedded import provenance

CASES = ("diffusion.high", "mesh.nabla2", "tridiagonal.tridiagonal", "vertical_advection")


def main() -> None:
    """Measure, and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    print(
        f"{'program':<22}{'size':<18}{'call ms':>9}{'tests in':>9}{'checked':>9}  times  embedded s"
    )
    for name, make in chosen_cases(given.cases).items():
        case = make("float64", given.scale)
        with ff.threads(given.threads):
            *least, embedded = _times(case, given.rounds)
        times = "".join(f"{1e3 * seconds:>9.2f}" for seconds in least)
        ratio = least[-1] / least[0]
        print(f"{name.partition('.')[2]:<22}{case.size:<18}{times}{ratio:>7.2f}{embedded:>12.2f}")


def _times(case: Any, rounds: int) -> list[float]:
    """Return the least seconds of a call, one with tests in it, a checked one; and embedded."""
    arguments = dict(case.arguments)
    if case.tables:
        arguments["offset_provider"] = case.tables
    program = case.program.with_backend(ff.cpu)
    tested = program.with_backend(ff.cpu.with_options(checked=True))
    calls = [partial(way, **arguments) for way in (program, tested, program.checked)]
    for call in calls:
        call()
    found = [[_seconds(call) for call in calls] for _ in range(rounds)]
    with warnings.catch_warnings(), provenance.checked({}):
        warnings.simplefilter("ignore")
        embedded = _seconds(partial(program.with_backend(None), **arguments))
    return [*map(min, zip(*found, strict=True)), embedded]


def _seconds(way: Callable[[], object]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
