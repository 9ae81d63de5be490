"""Strong and weak scaling of the shallow-water model, with ranks as threads or as MPI processes.

    python bench/ranks.py [--ranks 1,2,4,8,16] [--strong 7] [--weak 5] [--steps 40] [--by threads]

Each configuration runs in a process of its own; every rank has one thread. Strong scaling keeps the
grid of level `--strong`; weak scaling goes from level `--weak` on one rank to the next levels on 4,
16, ... ranks. A row tells seconds a step, the shares of kernels, exchange and Python, what of the
exchange is hidden, and what a copy scales to on as many ranks. Writes
`bench/results/<machine>/scaling.json` after each row.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np

RESULTS = Path(__file__).parent / "results"
WARM_UP = 3
COPIED = 1 << 25  # bytes that each rank copies: beyond the caches
OF_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LLOYD = 3  # the grid is made for its size, not for its errors


def configurations(ranks: Sequence[int], strong: int, weak: int) -> list[tuple[str, int, int]]:
    """Return kind, level and number of ranks; a level has four times the cells of the one before.

    >>> configurations([1, 2, 4], 6, 4)
    [('strong', 6, 1), ('strong', 6, 2), ('strong', 6, 4), ('weak', 4, 1), ('weak', 5, 4)]
    """
    powers = [(weak + n, 4**n) for n in range(8)]
    return [("strong", strong, count) for count in ranks] + [
        ("weak", level, count) for level, count in powers if count in ranks
    ]


# --- one configuration, in a process of its own ---------------------------------------------------


def timed_steps(models: Sequence[Any], steps: int, meet: Callable[[], None]) -> list[list[float]]:
    """Run the models side by side; return seconds of each step, and of each kind of phase."""

    def run(model: Any) -> tuple[float, dict[str, float]]:
        for _ in range(WARM_UP):
            model.step()
        spent: dict[str, float] = {}
        meet()
        begin = time.perf_counter()
        for _ in range(steps):
            for name, phase in model.phases:
                before = time.perf_counter()
                phase()
                spent[name] = spent.get(name, 0.0) + time.perf_counter() - before
        return time.perf_counter() - begin, spent

    with ThreadPoolExecutor(len(models)) as pool:
        return [
            [total / steps, *(spent.get(name, 0.0) / steps for name in ("start", "finish")),
             sum(spent.get(name, 0.0) for name in ("inner", "outer", "whole")) / steps]
            for total, spent in pool.map(run, models)
        ]  # fmt: skip


class Deaf:
    """An exchange that sends nothing: what a step would cost without it."""

    def start(self, *_fields: Any) -> None:
        """Send nothing."""

    def finish(self) -> None:
        """Wait for nobody."""


def copy_bandwidth(count: int, meet: Callable[[], None]) -> float:
    """Return bytes a second that as many threads copy at once, each on its own memory."""

    def run(_: int) -> float:
        source = np.ones(COPIED // 8)
        target = np.zeros_like(source)
        meet()
        begin = time.perf_counter()
        for _ in range(20):
            np.copyto(target, source)
        return 20 * 2 * COPIED / (time.perf_counter() - begin)

    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(run, range(count)))


def work(level: int, ranks: int, steps: int, by: str) -> dict[str, Any] | None:
    """Measure one configuration; on the other ranks of MPI return None."""
    import fieldforge as ff
    from fieldforge.examples.shallow_water.cases import RADIUS, initial_state
    from fieldforge.examples.shallow_water.grid import voronoi_grid
    from fieldforge.examples.shallow_water.model import ShallowWater, parts_of
    from fieldforge.examples.shallow_water.simulation import time_step
    from fieldforge.examples.shallow_water.voronoi import optimised
    from fieldforge.runtime.decomposition.exchange import MpiExchange, local_exchanges

    comm = None
    if by == "mpi":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    grid = voronoi_grid(optimised(level, iterations=LLOYD), RADIUS)
    start, parts = initial_state("6", grid), parts_of(grid, ranks)
    mine = parts if comm is None else [parts[comm.rank]]
    _, dt = time_step(grid, 1.0)
    patterns = [part.patterns for part in mine]
    if comm is None:
        meet: Callable[[], Any] = threading.Barrier(ranks).wait
        exchanges: Sequence[Any] = local_exchanges(patterns)
    else:
        meet, exchanges = comm.Barrier, [MpiExchange(comm, patterns[0])]
    began = time.perf_counter()
    with ff.plan() as plan:
        models, deaf = (
            [
                ShallowWater(grid, start, part, dt, ff.cpu, each if ranks > 1 else None)
                for part, each in zip(mine, row, strict=True)
            ]
            for row in (exchanges, [Deaf()] * len(mine))
        )
    plan.build(progress=None, **({} if comm is None else {"comm": comm}))
    set_up = time.perf_counter() - began
    rows = timed_steps(models, steps, meet)
    without = timed_steps(deaf, steps, meet)
    bandwidths = [copy_bandwidth(len(mine), meet)]
    if comm is not None:
        rows = [row for each in comm.allgather(rows) for row in each]
        without = [row for each in comm.allgather(without) for row in each]
        bandwidths = comm.allgather(bandwidths[0])
        if comm.rank:
            return None
    total, start_, finish, kernels = (statistics.mean(column) for column in zip(*rows, strict=True))
    bare = statistics.mean(row[0] for row in without)
    exchange = start_ + finish
    return {
        "level": level, "cells": grid.cells, "ranks": ranks, "by": by, "steps": steps,
        "set_up_s": set_up, "step_s": total, "step_without_exchange_s": bare,
        "kernels": kernels / total, "exchange": exchange / total,
        "python": (total - kernels - exchange) / total,
        "hidden": 1 - (total - bare) / exchange if exchange else None,
        "copy_bytes_per_s": sum(bandwidths), "load": os.getloadavg()[0],
    }  # fmt: skip


# --- all configurations ---------------------------------------------------------------------------


def launched(level: int, ranks: int, steps: int, by: str) -> dict[str, Any]:
    """Run a configuration in processes of its own and return its row."""
    words = [sys.executable, __file__, "--worker", f"{level},{ranks},{steps},{by}"]
    if by == "mpi":
        words = ["mpirun", "--bind-to", "none", "-n", str(ranks), *words]
    done = subprocess.run(
        words,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | (OF_ROOT if os.geteuid() == 0 else {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def with_efficiency(rows: list[dict[str, Any]]) -> None:
    """Add to each row what it makes of its ranks, and what a copy makes of them."""
    for row in rows:
        alone = next((r for r in rows if r["kind"] == row["kind"] and r["ranks"] == 1), None)
        if alone is None:
            continue
        rate = (row["cells"] / row["step_s"]) / (alone["cells"] / alone["step_s"])
        copied = row["copy_bytes_per_s"] / alone["copy_bytes_per_s"]
        row |= {"speedup": rate, "speedup_of_copy": copied, "of_copy": rate / copied}


def machine_folder() -> Path:
    """Return the folder of this machine's results."""
    from fieldforge.runtime.calls.machine import processor

    return RESULTS / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")


def measure(
    ranks: Sequence[int], strong: int, weak: int, steps: int, by: str, tell: Callable[[str], Any]
) -> Path:
    """Measure all configurations; return the file, which is written after each row."""
    folder = machine_folder()
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    wanted = configurations(ranks, strong, weak)
    for number, (kind, level, count) in enumerate(wanted, 1):
        tell(f"{number} of {len(wanted)}: {kind}, level {level}, {count} ranks")
        rows.append({"kind": kind, **launched(level, count, steps, by)})
        with_efficiency(rows)
        row = rows[-1]
        tell(
            f"    {1e3 * row['step_s']:.3g} ms a step, kernels {row['kernels']:.0%}, exchange "
            f"{row['exchange']:.0%}, Python {row['python']:.1%}, speed-up {row['speedup']:.2f} "
            f"(a copy: {row['speedup_of_copy']:.2f})"
        )
        (folder / "scaling.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return folder / "scaling.json"


@click.command()
@click.option("--ranks", default="", help="Numbers of ranks; powers of two up to the processors.")
@click.option("--strong", default=7, help="Level of the grid that all ranks share.")
@click.option("--weak", default=5, help="Level of the grid on one rank; 4 ranks have the next.")
@click.option("--steps", default=40)
@click.option("--by", type=click.Choice(["threads", "mpi"]), default=None)
@click.option("--worker", hidden=True)
def main(
    ranks: str, strong: int, weak: int, steps: int, by: str | None, worker: str | None
) -> None:
    """Measure scaling on the processors of this machine."""
    if worker:
        *numbers, chosen = worker.split(",")
        row = work(*map(int, numbers), chosen)
        if row is not None:
            print(json.dumps(row))
        return
    most = len(os.sched_getaffinity(0))
    counts = [int(n) for n in ranks.split(",") if n] or [2**n for n in range(8) if 2**n <= most]
    by = by or ("mpi" if has_mpi() else "threads")
    print(measure(counts, strong, weak, steps, by, lambda text: print(text, flush=True)))


def has_mpi() -> bool:
    """Tell whether ranks can be processes of MPI."""
    import importlib.util

    return shutil.which("mpirun") is not None and importlib.util.find_spec("mpi4py") is not None


if __name__ == "__main__":
    main()
