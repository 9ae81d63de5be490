"""The gradient of a run of shallow water on the sphere, with checkpoints, and beside JAX's.

    python bench/runs.py --level 6 --steps 1000 --checkpoints 20 [--others] [--gpu]

Each tool runs in a process of its own, on one thread; seconds are processor time, on a GPU
(`--gpu`) those of the clock. Ours: the
seconds of a forward step and of a reversed one by themselves, those of the gradient over as many of
both (the mean of one gradient before them and one after), and the steps that were repeated. JAX
(`--others`, in the environment of `make bench-others`): the same model, `scan` in `scan` with
`checkpoint` around the steps of the inner one and around the inner one. Both: seconds of the
gradient, the memory for states, adjoints and all that steps write, and how far the gradients are
apart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
from others.client import PYTHON

HERE: Final = Path(__file__).parent
INPUTS: Final = "inputs.npz"
CASE: Final = "6"


@click.command(help=__doc__)
@click.option("--level", default=6)
@click.option("--steps", default=1000)
@click.option("--checkpoints", default=20)
@click.option("--others/--no-others", "beside", default=False, help="measure JAX, too")
@click.option("--rounds", default=1, help="of each tool, in turns; the least counts")
@click.option("--gpu", "where", flag_value="gpu", default="cpu", help="run both on a GPU")
def main(level: int, steps: int, checkpoints: int, beside: bool, rounds: int, where: str) -> None:
    """Measure both, in turns."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_inputs(folder, level)
        own = (sys.executable, str(HERE / "runs.py"), "own")
        other = (os.environ.get("OTHERS_PYTHON", str(PYTHON)), str(HERE / "others/runs_in_jax.py"))
        found: dict[str, list[dict[str, Any]]] = {}
        for _ in range(rounds):
            for name, command in (("fieldforge", own), *([("JAX", other)] if beside else [])):
                given = (str(folder), str(steps), str(checkpoints), where)
                text = subprocess.run(
                    [*command, *given], check=True, stdout=subprocess.PIPE, text=True
                ).stdout
                found.setdefault(name, []).append(json.loads(text.splitlines()[-1]))
                click.echo(f"{name}: {found[name][-1]}")
        best = {name: min(rows, key=lambda row: row["seconds"]) for name, rows in found.items()}
        if beside:
            ours, theirs = best["fieldforge"], best["JAX"]
            one, two = (np.load(folder / f"{name}.npy") for name in ("own", "jax"))
            click.echo(
                f"JAX over ours: seconds {theirs['seconds'] / ours['seconds']:.2f}, "
                f"memory {theirs['megabytes'] / ours['megabytes']:.2f}; gradients differ by "
                f"{np.abs(one - two).max() / np.abs(one).max():.1e} of the largest value"
            )


def write_inputs(folder: Path, level: int) -> None:
    """Write the grid, the coefficients and the start of a run for both tools."""
    from fieldforge.examples.shallow_water.cases import DAY, RADIUS, initial_state
    from fieldforge.examples.shallow_water.grid import voronoi_grid
    from fieldforge.examples.shallow_water.inputs import coefficients
    from fieldforge.examples.shallow_water.simulation import time_step
    from fieldforge.examples.shallow_water.voronoi import optimised

    grid = voronoi_grid(optimised(level), RADIUS)
    start = initial_state(CASE, grid)
    arrays = {name: array for name, (_, array) in coefficients(grid).items()}
    np.savez(
        folder / INPUTS, level=level, dt=time_step(grid, 1e6 / DAY)[1], h=start.h, u=start.u,
        ground=start.ground, coriolis=start.coriolis, **arrays, **grid.tables,
    )  # fmt: skip


def own(folder: Path, steps: int, checkpoints: int, where: str) -> dict[str, Any]:
    """Measure ours: the cost is half the sum of the squares of the thickness at the end."""
    import fieldforge as ff
    from fieldforge.examples.assimilation.model import Sphere, recorded_step
    from fieldforge.examples.shallow_water.cases import RADIUS, initial_state
    from fieldforge.examples.shallow_water.grid import Cell, Edge, voronoi_grid
    from fieldforge.examples.shallow_water.voronoi import optimised

    given = np.load(folder / INPUTS)
    grid = voronoi_grid(optimised(int(given["level"])), RADIUS)
    start = initial_state(CASE, grid)
    sphere = Sphere(grid, start, where)
    clock = _clock(where)
    step = recorded_step(sphere, start, float(given["dt"]))

    def cost(_: int, h: Any, **__: Any) -> tuple[float, dict[str, Any]]:
        return 0.5 * float(ff.sum(h * h)), {"h": h}

    loop = ff.reversed_loop(
        step, carry=["h", "u"], cost=cost, progress=None, checkpoints=checkpoints
    )
    state = {"h": sphere.field((Cell,), start.h), "u": sphere.field((Edge,), start.u)}
    adjoints = {"h_b": sphere.field((Cell,), start.h), "u_b": sphere.zeros(Edge)}
    with ff.threads(1):
        loop(steps=3, **state)
        began = clock()
        _, found = loop(steps=steps, **state)
        seconds = clock() - began
        repeated = loop.report.forward_steps
        np.save(folder / "own.npy", found["h"].asnumpy())
        forward = _mean(lambda: step(**state), repeated, clock)
        reverse = _mean(lambda: loop.back(**state, **adjoints), steps, clock)
        began = clock()
        loop(steps=steps, **state)
        again = clock() - began
    return {
        "seconds": min(seconds, again),
        "megabytes": (loop.bytes + _written(step)) / 2**20,
        "forward_steps": repeated,
        "forward": forward,
        "reverse": reverse,
        "over_steps_alone": (seconds + again) / 2 / (repeated * forward + steps * reverse),
    }


def _clock(where: str) -> Callable[[], float]:
    """Return what tells seconds: of the processor, or on a GPU when all its work is done."""
    if where == "cpu":
        return time.process_time
    from fieldforge.runtime import gpu

    def now() -> float:
        gpu.current_device().sync()
        return time.perf_counter()

    return now


def _mean(call: Callable[[], object], times: int, clock: Callable[[], float]) -> float:
    """Return the mean seconds of calls after the first one, which plans and builds."""
    call()
    began = clock()
    for _ in range(times):
        call()
    return (clock() - began) / times


def _written(step: Any) -> int:
    """Return the bytes of all fields that a step writes."""
    from fieldforge.workflows.reversing.recorded_calls import calls_of
    from fieldforge.workflows.reversing.states import bytes_of

    touched = (each for call in calls_of(step.calls) for each in call.touched if each.written_by)
    return sum(map(bytes_of, {each.key: each.field for each in touched}.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["own"]:
        print(json.dumps(own(Path(sys.argv[2]), *map(int, sys.argv[3:5]), sys.argv[5])))
    else:
        main()
