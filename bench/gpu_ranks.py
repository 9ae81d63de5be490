"""Shallow water on several GPUs of one host: steps, exchanges, and what of them is hidden.

    python bench/gpu_ranks.py [--level 9,8] [--ranks 1,2] [--by mpi,nccl] [--steps 50] [FILE]

Each rank is a process of `mpirun` with a GPU of its own. Each grid is made and cut once. A row
tells seconds of a step, of a step that exchanges nothing, and of the exchanges alone, on the
slowest rank; the share hidden is 1 - (step - step without exchange) / exchange. Whether all ranks
together have the bits of one rank is tested with strict programs. `FIELDFORGE_GPU=null` tries all
of it on simulated devices.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from ranks import OF_MPI, OF_ROOT, RESULTS, ROUNDS, WARM_UP, Deaf, prepare, prepared

STRICT_STEPS = 5
LONGEST = 120  # seconds of one configuration


def backend(*, strict: bool) -> Any:
    """Return the backend of this machine's GPU, or of a simulated one."""
    from fieldforge.runtime import gpu
    from fieldforge.workflows.backends.backend import BACKENDS

    made = BACKENDS["gpu"]
    if gpu.platform() == "null":
        simulated = BACKENDS["gpu-host"].with_options(on_device=True)
        made = attrs.evolve(simulated, allocator=made.allocator)
    return made.with_options(numerics="strict") if strict else made


def seconds(call: Callable[[], Any], count: int, comm: Any, device: Any) -> float:
    """Return the seconds of a call on the slowest rank, until its GPU is done; the best round."""
    found = []
    for _ in range(ROUNDS):
        for _ in range(WARM_UP):
            call()
        device.sync()
        comm.Barrier()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        device.sync()
        found.append(max(comm.allgather((time.perf_counter() - begin) / count)))
    return min(found)


def exchange_alone(model: Any) -> Callable[[], Any]:
    """Return the exchanges of a step without what lies between."""
    phases = [phase for name, phase in model.phases if name in ("start", "finish")]

    def run() -> None:
        for phase in phases:
            phase()

    return run


def digest(model: Any, comm: Any) -> str | None:
    """Return a digest of the whole state in global order; on ranks but the first, None."""
    from fieldforge.examples.shallow_water.grid import Cell, Edge

    ids = [model.part.points[dim].global_ids for dim in (Cell, Edge)]
    gathered = comm.gather([
        (of[: len(values)], values) for of, values in zip(ids, model.owned(), strict=True)
    ])  # fmt: skip
    if gathered is None:
        return None
    found = hashlib.sha256()
    for column in range(2):
        whole = np.empty(sum(len(each[column][0]) for each in gathered))
        for each in gathered:
            whole[each[column][0]] = each[column][1]
        found.update(whole.tobytes())
    return found.hexdigest()


def work(folder: Path, divisions: int, by: str, steps: int) -> dict[str, Any] | None:
    """Measure on the ranks of this job; on all but the first return None."""
    from fieldforge.examples.shallow_water.ranks import close, exchanges_of, own_gpu, world

    number = own_gpu()
    comm = world()
    import fieldforge as ff
    from fieldforge.examples.shallow_water.model import ShallowWater
    from fieldforge.runtime import gpu

    device = gpu.Device(0)
    given = pickle.loads(prepared(folder, divisions, comm.size, comm.rank).read_bytes())
    inputs, dt = given["inputs"], given["dt"]
    began = time.perf_counter()
    with ff.plan() as plan:
        (exchange,) = exchanges_of([inputs.part], comm, by)
        strict = ShallowWater(inputs, dt, backend(strict=True), exchange)
        model = ShallowWater(inputs, dt, backend(strict=False), exchange)
        deaf = ShallowWater(inputs, dt, backend(strict=False), Deaf() if comm.size > 1 else None)
    plan.build(progress=None, comm=comm)
    set_up = time.perf_counter() - began
    for _ in range(STRICT_STEPS):
        strict.step()
    bits = digest(strict, comm)
    del strict
    model.step(), deaf.step()
    step = seconds(model.step, steps, comm, device)
    bare = seconds(deaf.step, steps, comm, device)
    alone = seconds(exchange_alone(model), steps, comm, device)
    close([exchange])
    gpus = comm.gather(number)
    sent = sum(len(ids) for each in inputs.part.patterns for (ids,) in each.send.values())
    if comm.rank:
        return None
    return {
        "gpu": device.name, "gpus": gpus, "cells": given["cells"], "ranks": comm.size, "by": by,
        "steps": steps, "set_up_s": set_up, "step_s": step, "step_without_exchange_s": bare,
        "exchange_alone_s": alone if comm.size > 1 else None,
        "hidden": 1 - (step - bare) / alone if comm.size > 1 else None,
        "points_sent": sent, "bits": bits,
    }  # fmt: skip


def launched(folder: Path, divisions: int, ranks: int, by: str, steps: int) -> dict[str, Any]:
    """Run one configuration; a failed one is a row with its error."""
    words = [sys.executable, __file__, "--worker", f"{folder},{divisions},{by},{steps}"]
    done = subprocess.run(
        ["mpirun", "--bind-to", "none", "-n", str(ranks), *words],
        env=os.environ | OF_MPI | (OF_ROOT if os.geteuid() == 0 else {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    if done.returncode:
        return {"ranks": ranks, "by": by, "error": (done.stderr + done.stdout)[-1500:]}
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def compare(rows: Sequence[dict[str, Any]]) -> None:
    """Add the speed-up over one rank to each row, and whether the bits are the same."""
    whole = {row["level"]: row for row in rows if row["ranks"] == 1 and "bits" in row}
    for row in rows:
        alone = whole.get(row["level"])
        if alone is not None and "bits" in row:
            row["speedup"] = alone["step_s"] / row["step_s"]
            row["has_the_bits_of_one_rank"] = row["bits"] == alone["bits"]


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--level", "levels", default="9,8")
@click.option("--ranks", default="1,2")
@click.option("--by", default="mpi,nccl")
@click.option("--steps", default=50)
@click.option("--worker", hidden=True)
def main(
    file: Path | None, levels: str, ranks: str, by: str, steps: int, worker: str | None
) -> None:
    """Measure on the GPUs of this machine."""
    if worker:
        folder, divisions, chosen, count = worker.split(",")
        row = work(Path(folder), int(divisions), chosen, int(count))
        if row is not None:
            print(json.dumps(row))
        return
    counts = [int(each) for each in ranks.split(",")]
    rows: list[dict[str, Any]] = []
    for level in map(int, levels.split(",")):
        for row in measured(level, counts, by.split(","), steps):
            rows.append(row)
            compare(rows)
            print(json.dumps(row), flush=True)
            name = next((row["gpu"] for row in rows if "gpu" in row), "unknown")
            folder = RESULTS / re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
            place = file or folder / "gpu_ranks.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


def measured(
    level: int, counts: Sequence[int], kinds: Sequence[str], steps: int
) -> Iterator[dict[str, Any]]:
    """Make the grid of a level, measure all configurations on it and yield their rows."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, begin = Path(scratch), time.perf_counter()
        prepare(folder, 2**level, counts)
        print(f"grid made and cut in {time.perf_counter() - begin:.0f} s", flush=True)
        for count in counts:
            for kind in kinds if count > 1 else ["mpi"]:
                yield {"level": level, **launched(folder, 2**level, count, kind, steps)}


if __name__ == "__main__":
    main()
