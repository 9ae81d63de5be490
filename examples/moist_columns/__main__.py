"""The command: run moist columns, print what is conserved, draw the clouds.

python -m fieldforge.examples.moist_columns --level 4 --levels 60 --days 5 --draw clouds.png
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track

import fieldforge as ff

from ..mesh_geometry import Numbers
from ..saturation_adjustment import HEATING
from ..shallow_water.cases import RADIUS, longitude_latitude
from ..shallow_water.figure import draw_map
from ..shallow_water.grid import voronoi_grid
from ..shallow_water.voronoi import optimised
from .model import Columns, MoistColumns, columns, parts_of, time_step


@click.command()
@click.option("--level", type=click.IntRange(1, 8), default=4, show_default=True)
@click.option("--levels", type=click.IntRange(2), default=60, show_default=True)
@click.option("--days", type=click.FloatRange(0.0, min_open=True), default=5.0, show_default=True)
@click.option("--draw", type=click.Path(path_type=Path), help="write a picture")
def main(level: int, levels: int, days: float, draw: Path | None) -> None:
    """Carry moist air around the sphere."""
    console = Console()
    began = time.perf_counter()
    air, model, steps = run(
        level,
        levels,
        days,
        lambda all_steps: track(all_steps, "steps", console=console, transient=True),
    )
    console.print(f"{air.grid.cells} cells x {levels} levels, {steps} steps")
    console.print(f"{time.perf_counter() - began:.1f} s with the grid and all builds")
    t, vapour, cloud = model.owned()
    mass = air.grid.cell_areas[:, None] * air.density
    energy, before = (mass * (t - HEATING * cloud)).sum(), (mass * air.t).sum()
    water = air.water(vapour, cloud) / air.water(air.vapour, air.cloud) - 1
    console.print(f"change of water {water:+.1e}, of energy {energy / before - 1:+.1e}")
    console.print(f"cloud in {(cloud > 0).mean():.1%} of the points")
    if draw is not None:
        figure_of(air, cloud, days).savefig(draw, dpi=96)
        console.print(f"Wrote {draw}")


def run(
    level: int, levels: int, days: float, over: Callable[[range], Iterable[int]] = iter
) -> tuple[Columns, MoistColumns, int]:
    """Run the model on one rank; return the columns, the model after it, and the steps."""
    air = columns(voronoi_grid(optimised(level), RADIUS), levels)
    steps, dt = time_step(air.grid, days)
    (part,) = parts_of(air.grid, 1)
    with ff.plan() as plan:
        model = MoistColumns(air, part, dt, ff.cpu)
    plan.build(progress=None)
    with plan.loop():
        for _ in over(range(steps)):
            model.step()
    return air, model, steps


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
