"""Draw a run on a map: the height of the surface, and the error or the vorticity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..icosahedral import Points
from ..mesh_geometry import Numbers
from .cases import longitude_latitude
from .norms import vorticity
from .simulation import Result


def draw(result: Result, path: Path) -> None:
    """Write a picture of the last state; the suffix of the path chooses its format."""
    figure_of(result).savefig(path, dpi=110)


def animate(result: Result, path: Path, per_second: int = 8) -> None:
    """Write the frames of a run as an animation, such as a GIF: the vorticity."""
    from matplotlib.animation import PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    grid, frames = result.grid, result.frames
    spins = [1e5 * vorticity(grid, each.u) for each in frames]
    top = max(float(np.abs(each).max()) for each in spins)
    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    levels = np.linspace(-top, top, 25)

    writer = PillowWriter(fps=per_second)
    with writer.saving(figure, path, dpi=80):
        for number, spin in enumerate(spins):
            axes.clear()
            places = _unrolled(grid.vertex_points, spin)
            filled = axes.tricontourf(*places, levels=levels, cmap="RdBu_r")
            axes.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude", ylabel="latitude")
            axes.set_title(f"Case {result.case.name}, day {frames[number].days:.2f}: vorticity")
            if number == 0:
                figure.colorbar(filled, ax=axes, label="1e-5/s", shrink=0.9)
            writer.grab_frame()
            figure.set_layout_engine("none")  # all frames keep the layout of the first


def figure_of(result: Result) -> Any:
    """Return the picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    case, grid, start = result.case, result.grid, result.start
    figure = Figure(figsize=(9.0, 8.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    title = f"Case {case.name}, day {case.days:g}, {grid.cells} cells"
    draw_map(figure, above, grid.cell_points, result.h + start.ground, "viridis", "m")
    above.set_title(f"{title}: height of the surface")
    if start.ground.any():
        _outline(above, grid.cell_points, start.ground)
    if start.is_steady:
        error = result.h - start.h
        draw_map(figure, below, grid.cell_points, error, "RdBu_r", "m", is_signed=True)
        below.set_title("error of the height")
    else:
        spin = 1e5 * vorticity(grid, result.u)
        draw_map(figure, below, grid.vertex_points, spin, "RdBu_r", "1e-5/s", is_signed=True)
        below.set_title("relative vorticity")
    below.set_xlabel("longitude")
    return figure


def draw_map(
    figure: Any,
    axes: Any,
    points: Points,
    values: Numbers,
    colours: str,
    unit: str,
    is_signed: bool = False,
) -> None:
    """Draw values at points of the sphere on a map, with a bar of colours."""
    from matplotlib.ticker import MaxNLocator

    top = float(np.abs(values).max()) if is_signed else float(values.max())
    bottom = -top if is_signed else float(values.min())
    levels = MaxNLocator(24, symmetric=is_signed).tick_values(bottom, top)
    filled = axes.tricontourf(*_unrolled(points, values), levels=levels, cmap=colours)
    figure.colorbar(filled, ax=axes, label=unit, shrink=0.9)
    axes.set_xlim(-180, 180)
    axes.set_ylim(-90, 90)
    axes.set_xticks(range(-180, 181, 60))
    axes.set_yticks(range(-90, 91, 30))
    axes.set_ylabel("latitude")


def _outline(axes: Any, points: Points, ground: Numbers) -> None:
    """Draw the height of the ground as lines."""
    lines = np.linspace(0.0, float(ground.max()), 5)[1:-1]
    axes.tricontour(*_unrolled(points, ground), levels=lines, colors="black", linewidths=0.8)


def _unrolled(points: Points, values: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return longitudes, latitudes and values, with copies beyond the seam and along the poles."""
    lon, lat = (np.degrees(each) for each in longitude_latitude(points))
    inner = np.abs(lat) < 89.9
    around = np.arange(-200.0, 201.0, 20.0)
    parts = [(lon[inner], lat[inner], values[inner])]
    for shift in (-360.0, 360.0):
        near = inner & (np.abs(lon + shift) < 220.0)
        parts.append((lon[near] + shift, lat[near], values[near]))
    for pole in (-90.0, 90.0):
        nearest = np.abs(lat - pole) < np.abs(lat - pole).min() + 1e-6
        parts.append((around, 0 * around + pole, 0 * around + values[nearest].mean()))
    return tuple(np.concatenate(each) for each in zip(*parts, strict=True))  # type: ignore[return-value]  # three parts in, three out
