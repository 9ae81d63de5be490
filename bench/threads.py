"""Calls on one thread and on two, on idle cores and on busy ones: `python bench/threads.py`.

Two variants take turns, many calls each, so that what else runs hits both alike. Busy loops, as
many as the machine has cores, are processes of this benchmark.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

import fieldforge as ff
from fieldforge.examples.diffusion import HALO, diffuse
from fieldforge.examples.diffusion import I as X
from fieldforge.examples.diffusion import J as Y
from fieldforge.examples.diffusion import K as Z

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]
BUSY = "while True: pass"


@ff.field_operator
def laplacian(u: Plane) -> Plane:
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@ff.program
def curve(u: Plane, out: Plane):
    laplacian(u, out=out)


def small() -> tuple[Any, tuple[Any, ...]]:
    """Return the Laplacian of 128 x 128 points, threaded whatever its size."""
    u = ff.as_field([I, J], np.random.default_rng(1).random((128, 128)))
    return curve.with_backend(ff.cpu.with_options(parallel_from=1)), (
        u, ff.zeros({I: (1, 127), J: (1, 127)}),
    )  # fmt: skip


def large() -> tuple[Any, tuple[Any, ...]]:
    """Return the diffusion of 256 x 256 x 80 points."""
    wide, core = (-HALO, 256 + HALO), {X: 256, Y: 256, Z: 80}
    u = ff.ones({X: wide, Y: wide, Z: 80}, allocator=ff.cpu)
    fields = (u, ff.ones(core, allocator=ff.cpu), ff.zeros(core, allocator=ff.cpu))
    return diffuse.with_backend(ff.cpu), fields


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many cores busy in the block."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seconds_of(call: Callable[[], object], count: int) -> list[float]:
    """Time calls one by one, after two that are not timed."""
    times = []
    for number in range(count + 2):
        begin = time.perf_counter()
        call()
        if number >= 2:
            times.append(time.perf_counter() - begin)
    return times


def measured(
    made: tuple[Any, tuple[Any, ...]], threads: tuple[int, ...], rounds: int, count: int
) -> dict[int, np.ndarray]:
    """Return the seconds of each call, by number of threads."""
    program, fields = made
    times: dict[int, list[float]] = {number: [] for number in threads}
    for _ in range(rounds):
        for number in threads:
            limited = program.with_threads(number)
            times[number] += seconds_of(lambda call=limited: call(*fields), count)
    return {number: np.array(found) for number, found in times.items()}


@click.command()
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--rounds", default=40)
def main(threads: str, rounds: int) -> None:
    """Print a row for each program, number of busy loops and number of threads."""
    numbers = tuple(int(part) for part in threads.split(","))
    columns = ("program", "busy loops", "threads", "least", "median", "90 %", "mean", "load")
    table = Table(*columns, title="microseconds of a call")
    for name, made, count in (("128x128", small(), 200), ("diffusion", large(), 4)):
        for loops in (0, os.cpu_count() or 1):
            with busy(loops):
                found = measured(made, numbers, rounds, count)
            for number, times in found.items():
                stats = (times.min(), np.median(times), np.quantile(times, 0.9), times.mean())
                shown = (f"{1e6 * value:.1f}" for value in stats)
                table.add_row(
                    name, str(loops), str(number), *shown, f"{os.getloadavg()[0]:.1f}"
                )  # fmt: skip
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
