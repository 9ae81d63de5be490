"""The command: run moist columns, print what is conserved, draw the clouds.

python -m fieldforge.examples.moist_columns --level 4 --levels 60 --days 5 --draw clouds.png
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from rich.console import Console
from rich.progress import track

import fieldforge as ff
from fieldforge.runtime.decomposition.scattering import scattered

from ..mesh_geometry import Numbers
from ..saturation_adjustment import HEATING
from ..shallow_water.cases import RADIUS, longitude_latitude
from ..shallow_water.figure import draw_map
from ..shallow_water.grid import Cell, voronoi_grid
from ..shallow_water.model import in_global_order
from ..shallow_water.ranks import close, exchanges_of, world
from ..shallow_water.voronoi import optimised
from .columns import Columns, columns, time_step
from .inputs import Inputs, inputs_of
from .model import NAMES, MoistColumns, parts_of


@attrs.frozen(eq=False)
class Run:
    """The columns as they were, temperature, vapour and cloud after it, and the number of steps."""

    air: Columns
    state: Sequence[Numbers]
    steps: int


@click.command()
@click.option("--level", type=click.IntRange(1, 8), default=4, show_default=True)
@click.option("--levels", type=click.IntRange(2), default=60, show_default=True)
@click.option("--days", type=click.FloatRange(0.0, min_open=True), default=5.0, show_default=True)
@click.option("--draw", type=click.Path(path_type=Path), help="write a picture")
@click.option("--mpi", is_flag=True, help="each process of mpirun is a rank")
def main(level: int, levels: int, days: float, draw: Path | None, mpi: bool) -> None:
    """Carry moist air around the sphere."""
    comm = world() if mpi else None
    console = Console(quiet=comm is not None and comm.rank > 0)
    began = time.perf_counter()
    done = run(
        level,
        levels,
        days,
        lambda all_steps: track(all_steps, "steps", console=console, transient=True),
        comm=comm,
        backend=ff.cpu,
    )
    if done is None:
        return
    air = done.air
    console.print(f"{air.grid.cells} cells x {levels} levels, {done.steps} steps")
    console.print(f"{time.perf_counter() - began:.1f} s with the grid and all builds")
    t, vapour, cloud = done.state
    mass = air.grid.cell_areas[:, None] * air.density
    energy, before = (mass * (t - HEATING * cloud)).sum(), (mass * air.t).sum()
    water = air.water(vapour, cloud) / air.water(air.vapour, air.cloud) - 1
    console.print(f"change of water {water:+.1e}, of energy {energy / before - 1:+.1e}")
    console.print(f"cloud in {(cloud > 0).mean():.1%} of the points")
    if draw is not None:
        figure_of(air, cloud, days).savefig(draw, dpi=96)
        console.print(f"Wrote {draw}")


def run(
    level: int,
    levels: int,
    days: float,
    over: Callable[[range], Iterable[int]] = iter,
    *,
    comm: Any = None,
    backend: Any = ff.cpu,
) -> Run | None:
    """Run the model on one rank or on those of MPI, where all ranks but the first return None.

    The first rank makes the columns and sends each rank what it needs.
    """
    air, ranks = None, 1 if comm is None else comm.size
    given: Iterable[tuple[Inputs, int]] | None = None
    if comm is None or comm.rank == 0:
        air = columns(voronoi_grid(optimised(level), RADIUS), levels)
        steps, dt = time_step(air.grid, days)
        parts = parts_of(air.grid, ranks)
        given = ((each, steps) for each in inputs_of(air, dt, parts))
    inputs, steps = next(iter(given or ())) if comm is None else scattered(comm, given)
    exchanges = exchanges_of([inputs.part], comm)
    with ff.plan() as plan:
        model = MoistColumns(inputs, backend, exchanges[0])
    plan.build(progress=None, **({} if comm is None else {"comm": comm}))
    with plan.loop():
        for _ in over(range(steps)):
            model.step()
    close(exchanges)
    owned = [model.owned()] if comm is None else comm.gather(model.owned())
    if air is None:
        return None
    state = [
        in_global_order(parts, Cell, [each[number] for each in owned])
        for number in range(len(NAMES))
    ]
    return Run(air, state, steps)


def figure_of(air: Columns, cloud: Numbers, days: float) -> Any:
    """Return a figure of matplotlib: cloud water of the columns, and along the equator."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=[3, 2])
    path = (cloud * air.density).sum(1) * air.thickness
    draw_map(figure, above, air.grid.cell_points, path, "Blues", "kg/m2")
    above.set_title(f"Day {days:g}: cloud water of the columns")
    lon, lat = (np.degrees(each) for each in longitude_latitude(air.grid.cell_points))
    near = np.flatnonzero(np.abs(lat) < 6.0)
    near = near[np.argsort(lon[near])]
    drawn = below.pcolormesh(
        lon[near], 1e-3 * air.heights, 1e3 * cloud[near].T, cmap="Blues", shading="nearest"
    )
    below.set(xlim=(-180, 180), xlabel="longitude", ylabel="height in km")
    below.set_title("cloud water along the equator")
    figure.colorbar(drawn, ax=below, label="g/kg")
    return figure


if __name__ == "__main__":
    main()
