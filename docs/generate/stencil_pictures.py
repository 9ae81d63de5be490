"""Draw what stencils of GTScript read and write: intervals, extents, regions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

WRITTEN: Final = "#3f6fb5"
READ: Final = "#d5dfef"
REGION: Final = "#d98032"


def intervals() -> Any:
    """Draw the levels of a column with the intervals that select them."""
    figure, axis = figure_with(5.6, 3.0)
    columns = (
        ("interval(...)", [(0, 6)]),
        ("interval(0, 1)", [(0, 1)]),
        ("interval(1, None)", [(1, 6)]),
        ("interval(1, -1)", [(1, 5)]),
        ("interval(-1, None)", [(5, 6)]),
    )
    for place, (name, selected) in enumerate(columns):
        for level in range(6):
            is_in = any(start <= level < stop for start, stop in selected)
            axis.add_patch(square(1.6 * place, level, WRITTEN if is_in else READ))
        axis.text(1.6 * place + 0.5, -0.25, name, ha="left", va="bottom", rotation=25, fontsize=8)
    axis.set(xlim=(-0.2, 8.2), ylim=(6.1, -2.1), aspect="equal", xticks=[])
    axis.set_yticks([level + 0.5 for level in range(6)], ["0", "1", "2", "3", "4", "-1"])
    axis.set_ylabel("level")
    _without_frame(axis)
    return figure


def extents() -> Any:
    """Draw where `t`, `u` and `b` of three statements are computed, and what is read of `a`."""
    figure, axes = figure_with(7.2, 2.4, columns=4)
    boxes = (
        ("reads of a", (-1, 4), (0, 4)),
        ("t = a[1, 0, 0] - a", (-1, 3), (0, 4)),
        ("u = t[0, 1, 0] + t", (-1, 3), (0, 3)),
        ("b = u[-1, 0, 0]", (0, 3), (0, 3)),
    )
    for axis, (name, along_i, along_j) in zip(axes, boxes, strict=True):
        for i in range(*along_i):
            for j in range(*along_j):
                inside = 0 <= i < 3 and 0 <= j < 3
                axis.add_patch(square(i, j, WRITTEN if inside else READ))
        axis.set(xlim=(-1.1, 4.1), ylim=(-0.1, 4.1), aspect="equal", title=name)
        axis.title.set_fontsize(8)
        axis.set_xticks([i + 0.5 for i in range(-1, 4)], ["-1", "0", "1", "2", "3"], fontsize=7)
        axis.set_yticks([j + 0.5 for j in range(4)], ["0", "1", "2", "3"], fontsize=7)
        _without_frame(axis)
    return figure


def regions() -> Any:
    """Draw regions of a compute domain of 6 by 4 points."""
    figure, axes = figure_with(7.2, 2.2, columns=3)
    found = (
        ("region[I[0], :]", range(1), range(4)),
        ("region[:, J[-1] - 1 :]", range(6), range(2, 4)),
        ("region[I[0] + 1 : I[-1], J[0]]", range(1, 5), range(1)),
    )
    for axis, (name, along_i, along_j) in zip(axes, found, strict=True):
        for i in range(6):
            for j in range(4):
                is_in = i in along_i and j in along_j
                axis.add_patch(square(i, j, REGION if is_in else WRITTEN))
        axis.set(xlim=(-0.1, 6.1), ylim=(-0.1, 4.1), aspect="equal", title=name)
        axis.title.set_fontsize(8)
        axis.set_xticks([0.5, 1.5, 5.5], ["I[0]", "I[0] + 1", "I[-1]"], fontsize=7)
        axis.set_yticks([0.5, 3.5], ["J[0]", "J[-1]"], fontsize=7)
        _without_frame(axis)
    return figure


def mixing() -> Any:
    """Draw the puff of the example."""
    from fieldforge.examples.limited_area_mixing import figure

    return figure()


STENCIL_PICTURES: Final[Mapping[str, Callable[[], Any]]] = {
    each.__name__: each for each in (intervals, extents, regions, mixing)
}


def square(i: float, j: float, colour: str) -> Any:
    """Return one point of a grid."""
    from matplotlib.patches import Rectangle

    return Rectangle((i, j), 1, 1, facecolor=colour, edgecolor="white")


def figure_with(width: float, height: float, columns: int = 1) -> Any:
    """Return a figure with its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def _without_frame(axis: Any) -> None:
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)
