"""Steps of the models on the sphere: time, bytes a second beside a copy, share outside kernels.

    python bench/models.py [--level 6] [--columns 5] [--levels 60] [--threads 0]

The time outside kernels is that of a step on 12 cells, whose kernels take next to nothing: calls,
arguments and Python. A row also tells how long threads were running: on a loaded machine they wait
for the rest of the time. Bytes are those that must move if every field were read or written once.
Writes `bench/results/<machine>/models.json`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from peer.client import PYTHON
from ranks import LLOYD
from run import place

import fieldforge as ff
from fieldforge.examples.moist_columns.columns import (
    columns,
    mixing,
    time_step as columns_time_step,
    wind_of,
)
from fieldforge.examples.moist_columns.inputs import inputs_of as columns_inputs_of
from fieldforge.examples.moist_columns.model import MoistColumns, parts_of
from fieldforge.examples.moist_columns.programs import (
    Air,
    CellEdges,
    K,
    OfEdges,
    OfLevels,
    condensed,
    mixed,
    transported,
)
from fieldforge.examples.saturation_adjustment import VAPOUR_GAS
from fieldforge.examples.shallow_water.cases import GRAVITY, RADIUS, initial_state
from fieldforge.examples.shallow_water.grid import C2EDim, Cell, Edge, connectivities, voronoi_grid
from fieldforge.examples.shallow_water.inputs import Inputs, inputs_of
from fieldforge.examples.shallow_water.model import ShallowWater, parts_of as parts_of_water
from fieldforge.examples.shallow_water.simulation import time_step
from fieldforge.examples.shallow_water.voronoi import optimised

PEER_STEPS = Path(__file__).parent / "peer" / "water.py"
STEPS_OF_PEER = 12
SECONDS = 2.0  # of repeated steps for each row
FIELDS = 3


@ff.program(backend=ff.cpu)
def transport(
    t: Air, vapour: Air, cloud: Air, wind: OfEdges, outflow: CellEdges, dt: ff.float64,
    a: Air, b: Air, c: Air,
):  # fmt: skip
    transported(t, vapour, cloud, wind, outflow, dt, out=(a, b, c))


@ff.program(backend=ff.cpu)
def mix(
    t: Air, vapour: Air, cloud: Air, lower: OfLevels, main: OfLevels, upper: OfLevels,
    a: Air, b: Air, c: Air,
):  # fmt: skip
    mixed(t, vapour, cloud, lower, main, upper, out=(a, b, c))


@ff.program(backend=ff.cpu)
def condense(t: Air, vapour: Air, cloud: Air, per_density: OfLevels, a: Air, b: Air, c: Air):
    condensed(t, vapour, cloud, per_density, out=(a, b, c))


class Least(float):
    """The least seconds of repeated calls, and in `processor` those that threads were running."""

    processor: float


def least(call: Callable[[], Any]) -> Least:
    """Time repeated calls, after one that is not timed."""
    call()
    found, running, end = [], [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(found) < 3:
        begin, before = time.perf_counter(), time.process_time()
        call()
        found.append(time.perf_counter() - begin)
        running.append(time.process_time() - before)
    best = Least(min(found))
    best.processor = min(running)
    return best


def copy_rate(count: int) -> float:
    """Return bytes a second of a program that copies a field of so many numbers."""
    source, target = ff.ones({Cell: count // 60, K: 60}), ff.zeros({Cell: count // 60, K: 60})
    seconds = least(lambda: copy(source, target))
    return 2 * 8 * (count // 60 * 60) / seconds


@ff.field_operator
def same(u: Air) -> Air:
    return u


@ff.program(backend=ff.cpu)
def copy(u: Air, out: Air):
    same(u, out=out)


def water(level: int) -> tuple[ShallowWater, Inputs]:
    """Return the shallow-water model on one rank, and what it was made of."""
    grid = voronoi_grid(optimised(level, iterations=LLOYD), RADIUS)
    _, dt = time_step(grid, 1.0)
    (inputs,) = inputs_of(grid, initial_state("6", grid), parts_of_water(grid, 1))
    return ShallowWater(inputs, dt, ff.cpu), inputs


def warm_set_up(model: ShallowWater, inputs: Inputs) -> Least:
    """Return the seconds of making the model once more when its programs are built."""

    def made() -> None:
        with ff.plan() as plan:
            ShallowWater(inputs, model.dt, ff.cpu)
        plan.build(progress=None)

    return least(made)


def by_peer(inputs: Inputs, dt: float, threads: int) -> dict[str, Any]:
    """Return the seconds of a step of the same model with gt4py, and how far both are apart."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "given.npz"), Path(folder, "out.npz")
        np.savez(
            given, h=inputs.h, u=inputs.u, dt=dt, gravity=GRAVITY,
            **{f"constant_{name}": array for name, (_, array) in inputs.constants.items()},
            **{f"table_{name}": table for name, table in inputs.part.tables.items()},
        )  # fmt: skip
        words = [PYTHON, PEER_STEPS, given, "gtfn_cpu", str(STEPS_OF_PEER), out]
        done = subprocess.run(
            words,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONOPTIMIZE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return {"refused": done.stderr.strip().splitlines()[-1]}
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        theirs = dict(np.load(out))
    ours = ShallowWater(inputs, dt, ff.cpu)
    for _ in range(STEPS_OF_PEER):
        ours.step()
    apart = [
        float(np.abs(a - b).max() / np.abs(a).max())
        for a, b in zip(ours.owned(), (theirs["h"], theirs["u"]), strict=True)
    ]
    return found | {"largest_difference": max(apart)}


def moist(level: int, levels: int) -> tuple[MoistColumns, Any, float]:
    """Return the model of moist columns on one rank, its air and its time step."""
    air = columns(voronoi_grid(optimised(level, iterations=LLOYD), RADIUS), levels)
    _, dt = columns_time_step(air.grid, 1.0)
    (part,) = parts_of(air.grid, 1)
    (inputs,) = columns_inputs_of(air, dt, [part])
    return MoistColumns(inputs, ff.cpu), air, dt


def parts_of_a_step(air: Any, dt: float) -> list[tuple[str, Callable[[], Any], int]]:
    """Return each statement as a program of its own, with the bytes that it must move."""
    grid, levels = air.grid, len(air.heights)
    state = [ff.as_field([Cell, K], each) for each in (air.t, air.vapour, air.cloud)]
    out = [ff.zeros({Cell: grid.cells, K: levels}) for _ in range(FIELDS)]
    c2e = grid.tables["C2E"]
    outflow = grid.out_of_cell * grid.edge_lengths[c2e] / grid.cell_areas[:, None]
    wind = ff.as_field([Edge, K], wind_of(grid, levels))
    coefficients = ff.as_field([Cell, C2EDim], np.where(c2e >= 0, outflow, 0.0))
    rows = [ff.as_field([K], each) for each in mixing(air, dt)]
    per_density = ff.as_field([K], 1.0 / (air.density * VAPOUR_GAS))
    tables = {name: connectivities(grid.tables)[name] for name in ("C2E", "E2C")}
    size = 8 * grid.cells * levels
    calls = {
        "transport (gathers)": transport.bind(
            t=state[0], vapour=state[1], cloud=state[2], wind=wind, outflow=coefficients, dt=dt,
            a=out[0], b=out[1], c=out[2], offset_provider=tables,
        ),
        "mixing (sweeps)": mix.bind(
            t=state[0], vapour=state[1], cloud=state[2], lower=rows[0], main=rows[1],
            upper=rows[2], a=out[0], b=out[1], c=out[2],
        ),
        "condensation (physics)": condense.bind(
            t=state[0], vapour=state[1], cloud=state[2], per_density=per_density,
            a=out[0], b=out[1], c=out[2],
        ),
    }  # fmt: skip
    moved = [2 * FIELDS * size + 8 * grid.edges * levels, 2 * FIELDS * size, 2 * FIELDS * size]
    return [(name, call, each) for (name, call), each in zip(calls.items(), moved, strict=True)]


def measure(
    level: int, column_level: int, levels: int, threads: int, tell: Callable[[str], Any]
) -> Path:
    """Measure both models; return the file with the rows."""
    rows: list[dict[str, Any]] = []

    def add(
        what: str, seconds: Least, moved: int | None = None, outside: float | None = None
    ) -> None:
        row = {
            "what": what, "ms": 1e3 * seconds, "processor_ms": 1e3 * seconds.processor,
            "of_copy": None if moved is None else moved / seconds / rate,
            "outside_kernels": None if outside is None else outside / seconds,
        }  # fmt: skip
        rows.append(row)
        share = "" if row["of_copy"] is None else f", {row['of_copy']:.2f} of a copy"
        calls = "" if outside is None else f", {row['outside_kernels']:.2%} outside kernels"
        tell(f"{what}: {row['ms']:.4g} ms, {row['processor_ms']:.4g} ms running{share}{calls}")

    rate = copy_rate(8_000_000)
    tell(f"a copy moves {rate / 1e9:.1f} GB/s")
    model, inputs = water(level)
    small, _ = water(0)
    what = f"shallow water, {len(inputs.h)} cells"
    add(f"{what}, a step", least(model.step), outside=least(small.step))
    warm = warm_set_up(model, inputs)
    rows[-1] |= {"warm_set_up_s": warm, "warm_set_up_processor_s": warm.processor}
    tell(f"    warm set-up {warm:.3f} s, of which {warm.processor:.3f} s running")
    if PYTHON.exists():
        rows[-1]["gt4py"] = by_peer(inputs, model.dt, threads)
        tell(f"    gt4py: {rows[-1]['gt4py']}")
    del model, inputs
    columned, air, dt = moist(column_level, levels)
    few, _, _ = moist(0, levels)
    size = f"{air.grid.cells} cells x {levels} levels"
    add(f"moist columns, {size}, a step", least(columned.step), outside=least(few.step))
    for name, call, moved in parts_of_a_step(air, dt):
        add(f"moist columns, {size}, {name}", least(call), moved)
    folder = place()
    document = {
        "threads": threads,
        "copy_bytes_per_s": rate,
        "load": os.getloadavg()[0],
        "rows": rows,
    }
    (folder / "models.json").write_text(json.dumps(document, indent=1) + "\n")
    return folder / "models.json"


@click.command()
@click.option("--level", default=6, help="Level of the grid of shallow water.")
@click.option("--columns", "column_level", default=5, help="Level of the grid of moist columns.")
@click.option("--levels", default=60)
@click.option("--threads", default=0, help="Threads of a call; all processors if 0.")
def main(level: int, column_level: int, levels: int, threads: int) -> None:
    """Measure the models on this machine."""
    threads = threads or len(os.sched_getaffinity(0))
    with ff.threads(threads):
        print(measure(level, column_level, levels, threads, lambda text: print(text, flush=True)))


if __name__ == "__main__":
    main()
