"""Strong and weak scaling of the shallow-water model, with ranks as threads or as MPI processes.

    python bench/ranks.py [--ranks 1,2,4,8,16] [--strong 7] [--weak 6] [--steps 40] [--by threads]

Each configuration runs in a process of its own; every rank has one thread. Strong scaling keeps the
grid of level `--strong`; weak scaling goes from level `--weak` on one rank to a grid of as many
cells for each rank. All grids are made and cut before, side by side. A row tells seconds a step,
the shares of kernels, exchange and Python, what of the exchange is hidden, and what a copy scales
to on as many ranks. Writes `bench/results/<machine>/scaling.json` after each row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
from run import place

RESULTS = Path(__file__).parent / "results"
WARM_UP = 3
COPIED = 1 << 25  # bytes that each rank copies: beyond the caches
OF_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OF_MPI = {  # the first for one thread a rank, the others for more ranks than processors
    "OMP_NUM_THREADS": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
LLOYD = 0  # the grid is made for its size, not for its errors
ROUNDS = 3  # the quickest one counts


def configurations(ranks: Sequence[int], strong: int, weak: int) -> list[tuple[str, int, int]]:
    """Return kind, parts of an edge of the icosahedron, and number of ranks.

    >>> configurations([1, 2], 6, 4)
    [('weak', 16, 1), ('weak', 23, 2), ('strong', 64, 1), ('strong', 64, 2)]
    """
    return [("weak", round(2**weak * count**0.5), count) for count in ranks] + [
        ("strong", 2**strong, count) for count in ranks
    ]


# --- grids, made and cut before -------------------------------------------------------------------


def prepare(folder: Path, divisions: int, counts: Sequence[int]) -> None:
    """Make a grid, cut it for each number of ranks, and write the inputs of each rank to a file."""
    from fieldforge.examples.shallow_water.cases import RADIUS, initial_state
    from fieldforge.examples.shallow_water.grid import voronoi_grid
    from fieldforge.examples.shallow_water.inputs import inputs_of
    from fieldforge.examples.shallow_water.model import parts_of
    from fieldforge.examples.shallow_water.simulation import time_step
    from fieldforge.examples.shallow_water.voronoi import optimised

    grid = voronoi_grid(optimised(0, iterations=LLOYD, root=divisions), RADIUS)
    start, (_, dt) = initial_state("5", grid), time_step(grid, 1.0)
    for count in counts:
        for inputs in inputs_of(grid, start, parts_of(grid, count)):
            given = {"inputs": inputs, "dt": dt, "cells": grid.cells}
            file = prepared(folder, divisions, count, inputs.part.rank)
            file.write_bytes(pickle.dumps(given))


def prepared(folder: Path, divisions: int, ranks: int, rank: int) -> Path:
    """Return the file of one rank."""
    return folder / f"{divisions}-{ranks}-{rank}.pickle"


def prepare_all(folder: Path, wanted: Sequence[tuple[str, int, int]]) -> None:
    """Prepare all configurations, the largest grids first; each grid is made once."""
    counts: dict[int, set[int]] = {}
    for _, divisions, count in wanted:
        counts.setdefault(divisions, set()).add(count)
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=spawned) as pool:
        jobs = sorted(counts.items(), reverse=True)
        for done in [pool.submit(prepare, folder, size, sorted(each)) for size, each in jobs]:
            done.result()


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

    def start(self, *_fields: Any, untouched: bool = False) -> None:
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


def work(folder: Path, divisions: int, ranks: int, steps: int, by: str) -> dict[str, Any] | None:
    """Measure one configuration; on the other ranks of MPI return None."""
    import fieldforge as ff
    from fieldforge.examples.shallow_water.model import ShallowWater
    from fieldforge.examples.shallow_water.ranks import exchanges_of

    comm = None
    if by == "mpi":
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        pin(comm.rank)
    mine = range(ranks) if comm is None else [comm.rank]
    given = [pickle.loads(prepared(folder, divisions, ranks, rank).read_bytes()) for rank in mine]
    inputs, dt = [each["inputs"] for each in given], given[0]["dt"]
    meet = threading.Barrier(ranks).wait if comm is None else comm.Barrier

    def made(exchanges: Sequence[Any]) -> tuple[list[ShallowWater], float]:
        began = time.perf_counter()
        with ff.plan() as plan:
            models = [
                ShallowWater(each, dt, ff.cpu, exchange)
                for each, exchange in zip(inputs, exchanges, strict=True)
            ]
        plan.build(progress=None, **({} if comm is None else {"comm": comm}))
        return models, time.perf_counter() - began

    models, set_up = made(exchanges_of([each.part for each in inputs], comm))
    deaf, _ = made([Deaf() if ranks > 1 else None] * len(mine))
    rounds = []
    for _ in range(ROUNDS):
        found = [timed_steps(each, steps, meet) for each in (models, deaf)]
        bandwidth = [copy_bandwidth(len(mine), meet)]
        if comm is not None:
            found = [[row for each in comm.allgather(rows) for row in each] for rows in found]
            bandwidth = comm.allgather(bandwidth[0])
        rounds.append((*found, sum(bandwidth)))
    if comm is not None and comm.rank:
        return None
    rows = min((each[0] for each in rounds), key=mean_step)
    total, start, finish, kernels = (statistics.mean(column) for column in zip(*rows, strict=True))
    bare = min(mean_step(each[1]) for each in rounds)
    slowest = min(max(row[0] for row in each[1]) for each in rounds)  # the others wait for it
    exchange = start + finish
    return {
        "cells": given[0]["cells"], "ranks": ranks, "by": by, "steps": steps,
        "set_up_s": set_up, "step_s": total, "step_without_exchange_s": bare,
        "kernels": kernels / total, "exchange": exchange / total,
        "slowest_kernels_s": max(row[3] for row in rows),
        "python": (total - kernels - exchange) / total,
        "slowest_step_without_exchange_s": slowest,
        "hidden": 1 - (total - slowest) / exchange if exchange else None,
        "copy_bytes_per_s": max(each[2] for each in rounds), "load": os.getloadavg()[0],
    }  # fmt: skip


def mean_step(rows: Sequence[Sequence[float]]) -> float:
    """Return the seconds of a step of all ranks."""
    return statistics.mean(row[0] for row in rows)


def pin(rank: int) -> None:
    """Keep this process on one processor, if each rank can have its own; other cores first."""
    processors = cores_first(os.sched_getaffinity(0))
    size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    if size <= len(processors):
        os.sched_setaffinity(0, {processors[rank]})


def cores_first(processors: Collection[int]) -> list[int]:
    """Return processors in an order in which the second threads of cores come last."""

    def thread(processor: int) -> int:
        told = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        if not told.exists():
            return 0
        siblings = re.findall(r"\d+", told.read_text())
        return siblings.index(str(processor)) if str(processor) in siblings else 1

    return sorted(processors, key=lambda each: (thread(each), each))


# --- all configurations ---------------------------------------------------------------------------


def launched(folder: Path, divisions: int, ranks: int, steps: int, by: str) -> dict[str, Any]:
    """Run a configuration in processes of its own and return its row."""
    words = [sys.executable, __file__, "--worker", f"{folder},{divisions},{ranks},{steps},{by}"]
    if by == "mpi":
        words = ["mpirun", "--bind-to", "none", "-n", str(ranks), *words]
    done = subprocess.run(
        words,
        env=os.environ | OF_MPI | (OF_ROOT if os.geteuid() == 0 else {}),
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


def measure(
    ranks: Sequence[int], strong: int, weak: int, steps: int, by: str, tell: Callable[[str], Any]
) -> Path:
    """Measure all configurations; return the file, which is written after each row."""
    folder = place()
    rows: list[dict[str, Any]] = []
    wanted = configurations(ranks, strong, weak)
    with tempfile.TemporaryDirectory() as name:
        begin = time.perf_counter()
        prepare_all(Path(name), wanted)
        tell(f"grids made and cut in {time.perf_counter() - begin:.0f} s")
        for number, (kind, divisions, count) in enumerate(wanted, 1):
            tell(f"{number} of {len(wanted)}: {kind}, {count} ranks")
            rows.append({"kind": kind, **launched(Path(name), divisions, count, steps, by)})
            finish_row(rows, folder, tell)
    return folder / "scaling.json"


def finish_row(rows: list[dict[str, Any]], folder: Path, tell: Callable[[str], Any]) -> None:
    """Compare the last row with those before, print it, and write all."""
    with_efficiency(rows)
    row = rows[-1]
    tell(
        f"    {row['cells']} cells, {1e3 * row['step_s']:.3g} ms a step, kernels "
        f"{row['kernels']:.0%}, exchange {row['exchange']:.0%}, Python {row['python']:.1%}, "
        f"speed-up {row['speedup']:.2f} (a copy: {row['speedup_of_copy']:.2f})"
    )
    (folder / "scaling.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n")


@click.command()
@click.option("--ranks", default="", help="Numbers of ranks; powers of two up to the processors.")
@click.option("--strong", default=7, help="Level of the grid that all ranks share.")
@click.option("--weak", default=6, help="Level of the grid on one rank.")
@click.option("--steps", default=40)
@click.option("--by", type=click.Choice(["threads", "mpi"]), default=None)
@click.option("--worker", hidden=True)
def main(
    ranks: str, strong: int, weak: int, steps: int, by: str | None, worker: str | None
) -> None:
    """Measure scaling on the processors of this machine."""
    if worker:
        folder, *numbers, chosen = worker.split(",")
        row = work(Path(folder), *map(int, numbers), chosen)
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
