"""Draw an analysis: errors before and after, the minimisation, and a map of sensitivities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..shallow_water.cases import longitude_latitude
from ..shallow_water.figure import draw_map
from .experiment import Analysis


def draw(analysis: Analysis, path: Path) -> None:
    """Write a picture; the suffix of the path chooses its format."""
    figure_of(analysis).savefig(path, dpi=110)


def figure_of(analysis: Analysis) -> Any:
    """Return the picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 9.6), layout="constrained")
    (one, two), (three, four), below = figure.subplots(3, 2)
    points, truth = analysis.grid.cell_points, analysis.truth
    draw_map(figure, one, points, truth, "viridis", "m")
    one.set_title("thickness at the start")
    lon, lat = (np.degrees(each[analysis.cells]) for each in longitude_latitude(points))
    one.plot(lon, lat, "k.", markersize=3, label=f"{len(lon)} cells are seen each hour")
    one.legend(loc="lower left", fontsize="small")
    for axes, values, name in (
        (two, analysis.guess, "first guess"),
        (three, analysis.found, "analysis"),
    ):
        draw_map(figure, axes, points, values - truth, "RdBu_r", "m", is_signed=True)
        axes.set_title(f"error of the {name}: {analysis.error(values):.2f} m")
    hours = analysis.experiment.hours
    draw_map(figure, four, points, 1e3 * analysis.sensitivity, "RdBu_r", "mm per m", is_signed=True)
    four.plot(lon[:1], lat[:1], "k+", markersize=12)
    four.set_title(f"mean thickness around the cross after {hours} hours by that at the start")
    _minimisation(below[0], below[1], analysis)
    return figure


def _minimisation(left: Any, right: Any, analysis: Analysis) -> None:
    rows = analysis.iterations
    left.semilogy([each.cost for each in rows], ".-", label="cost")
    left.semilogy([each.gradient for each in rows], ".-", label="norm of its gradient")
    right.semilogy([each.error for each in rows], ".-", color="tab:green", label="error, m")
    right.axhline(0.1 * rows[0].error, color="grey", linestyle=":", label="a tenth of the first")
    for axes in (left, right):
        axes.set_xlabel("iteration")
        axes.legend()
        axes.grid(alpha=0.3)
