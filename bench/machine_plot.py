"""The first figure of the page: how long others take on each machine, in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from figures import Row, best_by_hand, geometric_mean, over_ours, taken
from machine_tables.tools import TOOLS
from plot import BLUE, ORANGE

mpl.use("Agg")
import matplotlib.pyplot as plt

BY_HAND = "C++ by hand,\nthe best of several"
COLOURS = {BY_HAND: ORANGE, "Numba": "#38761d", "pystencils": "#6aa84f", "JAX": "#b6d7a8"}
GREY = "#888888"
SHADES = (0.45, 0.6, 0.8, 1.0)  # of the bars of a way, from the fewest threads to the most
THICK = 0.2  # of a bar, where 1 is the distance of two ways


Run = dict[str, Any]


def draw(machines: Sequence[tuple[Run, Run]], path: Path) -> None:
    """Draw a panel for each machine: a bar for each way and number of threads, from 1 on.

    A machine has two runs: beside kernels by hand, and beside other tools.
    """
    figure, panels = plt.subplots(
        1, len(machines), figsize=(9.6, 3.4), layout="constrained", sharey=True, squeeze=False
    )
    for axes, (alone, beside) in zip(panels[0], machines, strict=True):
        for place, way in enumerate(COLOURS):
            means = _means((beside if way in TOOLS else alone)["rows"], way)
            _bars(axes, place, way, means)
            if not means:
                axes.annotate("not measured", (1.08, place), va="center", fontsize=7, color=GREY)
        axes.axvline(1, color=BLUE, linewidth=2)
        axes.set(xscale="log", xlim=(0.75, 26), xticks=[], yticks=range(len(COLOURS)))
        axes.set_yticklabels(COLOURS)
        axes.minorticks_off()
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        programs = len({(row["program"], row["size"]) for row in alone["rows"]})
        axes.set_title(
            f"{alone['machine']['processor']}, {programs} programs", fontsize=9, loc="left"
        )
    panels[0][0].invert_yaxis()
    figure.suptitle(
        "Time over the time of fieldforge (blue line): the longer a bar, the slower that way",
        fontsize=11, color=BLUE,
    )  # fmt: skip
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bars(axes: Any, place: int, way: str, means: dict[int, float]) -> None:
    """Draw the bars of one way, the fewest threads first, and write each length."""
    shades = SHADES[-len(means) :] if means else ()
    for turn, ((threads, mean), shade) in enumerate(zip(means.items(), shades, strict=True)):
        at = place + (turn - (len(means) - 1) / 2) * THICK
        axes.barh(at, mean - 1, THICK * 0.9, left=1, color=COLOURS[way], alpha=shade)
        text = f"{mean:.2f}" if mean < 2 else f"{mean:.1f}"
        label = f"{text}   {threads} thread{'s' * (threads > 1)}"
        axes.annotate(
            label, (max(mean, 1), at), (4, 0), textcoords="offset points", va="center", fontsize=7
        )


def _means(rows: Sequence[Row], way: str) -> dict[int, float]:
    """Return the geometric mean over programs and precisions by the number of threads."""
    found = {}
    for threads in sorted({row["threads"] for row in rows}):
        own = [row for row in rows if row["threads"] == threads]
        mean = geometric_mean(over_ours(row, _seconds(row, way)) for row in own)
        if mean is not None:
            found[threads] = mean
    return found


def _seconds(row: Row, way: str) -> float | None:
    if way in TOOLS:
        return taken(row, way)
    found = best_by_hand(row)
    return found[1] if found else None
