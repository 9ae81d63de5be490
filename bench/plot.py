"""The programs in one picture: how near to the roof, and how many times faster than the others.

    python bench/plot.py        draws it again without measuring
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import figures
import matplotlib as mpl
import numpy as np
from figures import Row, best_by_hand, over_ours, rival, taken
from variants import OURS

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
THREADS, DTYPE = 2, "float64"
COLOURS = {
    "ours": "#0b5394", "by hand": "#e69138", "gt4py C++": "#6aa84f", "gt4py DaCe": "#38761d",
    "DaCe at its best": "#b6d7a8", "NumPy": "#999999",
}  # fmt: skip


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw two panels: the roofline on the left, ratios on the right."""
    rows = [
        row for row in document["rows"] if (row["threads"], row["dtype"]) == (THREADS, DTYPE)
    ]
    if not rows or not document.get("roofs"):
        return
    height = max(5.5, 1.2 + 0.95 * len(rows))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(15, height), width_ratios=(1, 1.15), layout="constrained"
    )
    _roofline(left, rows, document["roofs"][str(THREADS)])
    _ratios(right, rows)
    figure.suptitle(
        f"fieldforge on {document['machine']['processor']}, {THREADS} threads, {DTYPE}",
        fontweight="bold",
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _roofline(axes: Any, rows: list[Row], roof: dict[str, Any]) -> None:
    """Operations a second over operations a byte; a line joins ours with the best by hand."""
    peak = roof["operations"][DTYPE]
    intensities = [row["operations"] / row["moved"] for row in rows]
    low, high = min(intensities) / 2, max(*intensities, peak / roof["bytes"]) * 2
    x = np.geomspace(low, high, 200)
    y = np.minimum(x * roof["bytes"], peak)
    axes.plot(x, 1e-9 * y, color="black", linewidth=1.5)
    axes.fill_between(x, 1e-9 * y, 1e-9 * y.max() * 3, color="#eeeeee")
    floor = 1e-9 * min(
        row["operations"] / (taken(row, OURS) or 1.0) for row in rows
    )
    axes.text(
        low * 1.1, 1e-9 * low * 1.1 * roof["bytes"] * 1.25,
        f"copy, {1e-9 * roof['bytes']:.0f} GB/s", rotation=0, fontsize=9,
    )  # fmt: skip
    axes.text(high / 1.1, 1e-9 * peak * 1.12, f"arithmetic, {1e-9 * peak:.0f} GFLOP/s", ha="right", fontsize=9)
    for number, (row, at) in enumerate(zip(rows, intensities, strict=True), start=1):
        hand = best_by_hand(row)
        ours = 1e-9 * row["operations"] / (taken(row, OURS) or 1.0)
        if hand:
            theirs = 1e-9 * row["operations"] / hand[1]
            axes.plot([at, at], [ours, theirs], color="#bbbbbb", zorder=1)
            axes.scatter(at, theirs, s=110, facecolor="none", edgecolor=COLOURS["by hand"], linewidth=2, zorder=3)
        axes.scatter(at, ours, s=45, color=COLOURS["ours"], zorder=2)
        axes.annotate(str(number), (at, ours), (9, -4), textcoords="offset points", fontsize=10)
    axes.scatter([], [], s=45, color=COLOURS["ours"], label="fieldforge (numbers: see the right)")
    axes.scatter([], [], s=110, facecolor="none", edgecolor=COLOURS["by hand"], linewidth=2, label="best by hand")
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(floor / 3, 1e-9 * peak * 2))
    axes.set(xlabel="operations per byte that must move", ylabel="GFLOP/s")
    axes.set_title("How near to the roof: up is faster")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="lower right")


def _ratios(axes: Any, rows: list[Row]) -> None:
    """A group of bars a program: the time of each other variant over ours."""
    kinds = {"by hand": None, **{shown: name for name, shown in figures.RIVALS.items()}}
    width = 0.8 / len(kinds)
    for index, (shown, name) in enumerate(kinds.items()):
        for at, row in enumerate(rows):
            hand = best_by_hand(row)
            seconds = (hand and hand[1]) if name is None else rival(row, name)
            ratio = over_ours(row, seconds)
            place = at - 0.4 + (index + 0.5) * width
            if ratio is None:
                axes.text(1.03, place, f"{shown}: not measured", va="center", fontsize=7, color="#777777")
                continue
            axes.barh(place, ratio - 1.0, width * 0.9, left=1.0, color=COLOURS[shown])
            side = 3 if ratio >= 1 else -3
            axes.annotate(
                f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}", (ratio, place), (side, 0),
                textcoords="offset points", va="center", ha="left" if ratio >= 1 else "right", fontsize=8,
            )  # fmt: skip
        axes.barh(0, 0, color=COLOURS[shown], label=shown)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), high * 1.5)
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(
        range(len(rows)),
        [f"{row['program']}\n{row['size']}   ({n})" for n, row in enumerate(rows, start=1)],
    )
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("time of the other / time of fieldforge: right of the line fieldforge is faster")
    axes.set_title("How many times our time the others take")
    axes.grid(visible=True, axis="x", alpha=0.3)
    axes.legend(loc="lower right", fontsize=9)


if __name__ == "__main__":
    draw(json.loads((RESULTS / "programs.json").read_text()), RESULTS / "programs.png")
