"""What checked calls cost: programs with and without checks in turn, and embedded.

python bench/checked.py [--scale 0.5] [--rounds 15] [--threads 1] [CASE ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

from cases import chosen_cases

import fieldforge as ff
from fieldforge.runtime import checking

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
        f"{'program':<22}{'size':<16}{'call ms':>9}{'checked ms':>12}{'times':>7}{'embedded s':>12}"
    )
    for name, make in chosen_cases(given.cases).items():
        case = make("float64", given.scale)
        with ff.threads(given.threads):
            plain, checked, embedded = _times(case, given.rounds)
        ratio = checked / plain
        print(
            f"{name.partition('.')[2]:<22}{case.size:<16}{1e3 * plain:>9.2f}{1e3 * checked:>12.2f}"
            f"{ratio:>7.2f}{embedded:>12.2f}"
        )


def _times(case: Any, rounds: int) -> tuple[float, float, float]:
    """Return the least seconds of a call, of a checked one, and those of one embedded."""
    arguments = dict(case.arguments)
    if case.tables:
        arguments["offset_provider"] = case.tables
    program = case.program.with_backend(ff.cpu)
    ways = (lambda: program(**arguments), lambda: program.checked(**arguments))
    for way in ways:
        way()
    found = [[_seconds(way) for way in ways] for _ in range(rounds)]
    with warnings.catch_warnings(), checking.checked({}):
        warnings.simplefilter("ignore")
        embedded = _seconds(lambda: case.program.with_backend(None)(**arguments))
    plain, checked = (min(column) for column in zip(*found, strict=True))
    return plain, checked, embedded


def _seconds(way: Callable[[], object]) -> float:
    began = time.perf_counter()
    way()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
