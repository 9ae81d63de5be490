"""The programs in one picture: how near to the roof, and how many times faster than the others.

`page.py` draws it again without measuring.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import figures
import matplotlib as mpl
import numpy as np
from figures import OURS, Row, best_by_hand, over_ours, rival, taken

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator, NullLocator

THREADS, DTYPE = 2, "float64"
ENOUGH = 0.9  # of the best by hand: the number that we hold ourselves to
BLUE, ORANGE, LINE = "#0b5394", "#e69138", "#bbbbbb"
BARS = {
    "best by hand": ORANGE,
    "DaCe at its best": "#38761d",
    "gt4py DaCe": "#6aa84f",
    "gt4py C++": "#b6d7a8",
    "NumPy": "#b7b7b7",
}
TICKS = (0.1, 0.2, 0.5, 0.7, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw two panels: the roofline on the left, ratios on the right."""
    chosen = [row for row in document["rows"] if (row["threads"], row["dtype"]) == (THREADS, DTYPE)]
    rows = [row for row in chosen if OURS in row["times"]]  # the page has the others
    if not rows or not document.get("roofs"):
        return
    height = max(6.0, 1.8 + 0.75 * len(rows))
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(16, height), width_ratios=(1.15, 1), layout="constrained"
    )
    _roofline(left, rows, document["roofs"][str(THREADS)])
    _ratios(right, rows)
    on = f"{document['machine']['processor']}, {THREADS} threads, {DTYPE}"
    figure.suptitle(f"fieldforge on {on}", fontweight="bold")
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower right", ncols=7)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _roofline(axes: Any, rows: list[Row], roof: dict[str, Any]) -> None:
    """Operations a second over operations a byte; a line joins ours with the best by hand."""
    copy, peak = 1e-9 * roof["bytes"], 1e-9 * roof["operations"][DTYPE]
    at = {n: row["operations"] / row["moved"] for n, row in enumerate(rows, start=1)}
    ours = {n: _rate(row, taken(row, OURS)) for n, row in enumerate(rows, start=1)}
    hand = {n: _rate(row, (best_by_hand(row) or (0, None))[1]) for n, row in enumerate(rows, 1)}
    rates = [rate for rate in (*ours.values(), *hand.values()) if rate]
    low, high = min(at.values()) / 2, max(*at.values(), peak / copy) * 2.5
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(min(rates) / 2, peak * 2))
    _roofs(axes, low, high, copy, peak)
    for n, x in at.items():
        if hand[n]:
            axes.plot([x, x], [ours[n], hand[n]], color=LINE, zorder=1)
            axes.scatter(x, hand[n], s=120, facecolor="none", edgecolor=ORANGE, lw=2, zorder=3)
        axes.scatter(x, ours[n], s=50, color=BLUE, zorder=2)
    _numbers(axes, at, ours, hand)
    axes.scatter([], [], s=50, color=BLUE, label="fieldforge (numbers as on the right)")
    axes.scatter([], [], s=120, facecolor="none", edgecolor=ORANGE, lw=2, label="best by hand")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    axes.set(xlabel="operations per byte that must move", ylabel="GFLOP/s")
    axes.set_title("How near to the roof: higher is faster")
    axes.grid(visible=True, alpha=0.25)
    axes.legend(loc="lower right")


def _roofs(axes: Any, low: float, high: float, copy: float, peak: float) -> None:
    x = np.geomspace(low, high, 200)
    y = np.minimum(x * copy, peak)
    axes.plot(x, y, color="black", lw=1.5)
    axes.fill_between(x, y, 10 * peak, color="#eeeeee")
    start = 0.3 * peak / copy
    axes.text(
        start,
        start * copy * 1.08,
        f"copy: {copy:.0f} GB/s",
        rotation=math.degrees(math.atan(copy)),  # the line's direction in the data, not on paper
        rotation_mode="anchor",
        transform_rotates_text=True,
    )
    axes.text(high / 1.1, peak * 1.06, f"arithmetic: {peak:.0f} GFLOP/s", ha="right")


def _numbers(axes: Any, at: dict[int, float], *rates: dict[int, float]) -> None:
    """Write each program's number beside its point, on the side that is least crowded."""
    on_paper = axes.transData.transform
    taken_up = [on_paper((at[n], rate)) for each in rates for n, rate in each.items() if rate]
    for n, rate in rates[0].items():
        x, y = on_paper((at[n], rate))
        sides = [(x + dx, y + dy) for dx, dy in ((17, 0), (-17, 0), (0, -17), (0, 17))]
        place = max(sides, key=lambda side: min(math.dist(side, other) for other in taken_up))
        taken_up.append(place)
        shift = (place[0] - x) * 0.72, (place[1] - y) * 0.72  # points, at 100 pixels an inch
        axes.annotate(
            str(n), (at[n], rate), shift, textcoords="offset points", ha="center", va="center"
        )


def _rate(row: Row, seconds: float | None) -> float:
    return 0.0 if seconds is None else 1e-9 * row["operations"] / seconds


def _ratios(axes: Any, rows: list[Row]) -> None:
    """Draw a group of bars for each program: the time of each other variant over ours."""
    axes.set_xscale("log")
    width = 0.84 / len(BARS)
    keys = {shown: name for name, shown in figures.RIVALS.items()}
    for index, (shown, colour) in enumerate(BARS.items()):
        for at, row in enumerate(rows):
            hand = best_by_hand(row)
            seconds = rival(row, keys[shown]) if shown in keys else hand and hand[1]
            place = at - 0.42 + (index + 0.5) * width
            _bar(axes, place, width, over_ours(row, seconds), shown, colour)
        axes.barh(0, 0, color=colour, label=shown)
    axes.axvline(1.0, color=BLUE, lw=1.5, label="fieldforge")
    axes.axvline(ENOUGH, color=ORANGE, lw=1, ls="--", label=f"{ENOUGH:g}, our bound for it")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 1.0) * 0.75, high * 1.6)
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.minorticks_off()
    named = [f"{row['program']}\n{row['size']}   ({n})" for n, row in enumerate(rows, start=1)]
    axes.set_yticks(range(len(rows)), named)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for edge in range(1, len(rows)):
        axes.axhline(edge - 0.5, color=LINE, lw=0.6)
    axes.set_xlabel("time of the other / time of fieldforge")
    axes.set_title("How long the others take: right of the line fieldforge is faster")
    axes.grid(visible=True, axis="x", alpha=0.3)


def _bar(
    axes: Any, place: float, width: float, ratio: float | None, shown: str, colour: str
) -> None:
    if ratio is None:
        text = f"{shown}: not measured, see the page"
        axes.text(1.04, place, text, va="center", fontsize=7, color="#777777")
        return
    axes.barh(place, ratio - 1.0, width * 0.92, left=1.0, color=colour)
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    faster = ratio >= 1
    shift, align = ((3, -0.5), "left") if faster else ((-3, -0.5), "right")
    axes.annotate(
        text, (ratio, place), shift, textcoords="offset points", va="center", ha=align, fontsize=8
    )
