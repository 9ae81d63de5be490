"""Draw how the sphere is cut: the cells of all ranks, and those of one rank with its halo.

python -m fieldforge.examples.shallow_water.draw_parts --level 4 --ranks 4 parts.png
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from fieldforge.runtime.decomposition.mesh import check
from fieldforge.runtime.decomposition.pattern import LocalMesh

from .cases import RADIUS, longitude_latitude
from .grid import Cell, Grid, voronoi_grid
from .model import HALO, parts_of
from .voronoi import optimised


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--level", type=click.IntRange(1, 7), default=4, show_default=True)
@click.option("--ranks", type=click.IntRange(1), default=4, show_default=True)
@click.option("--rank", type=click.IntRange(0), default=0, help="whose halo is drawn")
def main(path: Path, level: int, ranks: int, rank: int) -> None:
    """Draw the parts of the ranks to a file."""
    grid = voronoi_grid(optimised(level), RADIUS)
    parts = parts_of(grid, ranks)
    check(parts)
    figure_of(grid, parts, min(rank, ranks - 1)).savefig(path, dpi=110)
    click.echo(f"Wrote {path}")


def figure_of(grid: Grid, parts: Sequence[LocalMesh], rank: int) -> Any:
    """Return a figure of matplotlib: owners above, the ranges of one rank below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 8.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for part in parts:
        points = part.points[Cell]
        _dots(above, grid, points.global_ids[: points.owned], f"C{part.rank % 10}", None)
    above.set_title(f"{grid.cells} cells of {len(parts)} ranks")
    points = parts[rank].points[Cell]
    _dots(below, grid, np.arange(grid.cells), "0.9", None)
    ranges = [("inner", points.distances > HALO, "C0")]
    ranges += [
        (f"boundary, distance {at}", points.distances == at, ("C2", "C8")[at % 2])
        for at in range(HALO, 0, -1)
    ]
    ranges += [
        (f"halo, level {level}", points.levels == level, ("C3", "C1")[level % 2])
        for level in range(1, HALO + 1)
    ]
    for name, chosen, colour in ranges:
        _dots(below, grid, points.global_ids[chosen], colour, f"{name}: {int(chosen.sum())}")
    below.set_title(f"what rank {rank} has")
    below.legend(loc="lower left", fontsize="small", framealpha=1.0)
    below.set_xlabel("longitude")
    return figure


def _dots(axes: Any, grid: Grid, cells: Any, colour: str, label: str | None) -> None:
    lon, lat = (np.degrees(each) for each in longitude_latitude(grid.cell_points[cells]))
    axes.scatter(lon, lat, s=40000 / grid.cells, color=colour, label=label)
    axes.set(xlim=(-180, 180), ylim=(-90, 90), ylabel="latitude")


if __name__ == "__main__":
    main()
