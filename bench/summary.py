"""The first figure of the page: how long others take, in ten seconds.

python bench/summary.py        draws `results/summary.png` from the results
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from figures import Row, best_by_hand, geometric_mean, over_ours, rival
from plot import BARS, BLUE
from variants import OURS

mpl.use("Agg")
import matplotlib.pyplot as plt

RESULTS = Path(__file__).parent / "results"
THREADS = 2


def draw(document: dict[str, Any], path: Path) -> None:
    """Draw a bar for each way, as long as its geometric mean over all programs."""
    rows = [r for r in document["rows"] if r["threads"] == THREADS and OURS in r["times"]]
    means = {"fieldforge": 1.0} | {name: _mean(rows, name) for name in BARS}
    means = {name: mean for name, mean in means.items() if mean}
    figure, axes = plt.subplots(figsize=(7.2, 2.4), layout="constrained")
    colours = [BLUE, *(BARS[name] for name in means if name in BARS)]
    axes.barh(list(means), list(means.values()), color=colours)
    for place, mean in enumerate(means.values()):
        text = f"{mean:.2f}" if mean < 2 else f"{mean:.0f} times as long"
        axes.annotate(text, (mean, place), (4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.set(xlim=(0, 1.3 * max(means.values())), xticks=[])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    programs = len({row["program"] for row in rows})
    axes.set_title(
        f"Time of {programs} stencil programs, fieldforge = 1 "
        f"({document['machine']['processor']}, {THREADS} threads)",
        fontsize=10, loc="left",
    )  # fmt: skip
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _mean(rows: list[Row], name: str) -> float | None:
    return geometric_mean(over_ours(row, _seconds(row, name)) for row in rows)


def _seconds(row: Row, name: str) -> float | None:
    if name == "best by hand":
        found = best_by_hand(row)
        return found[1] if found else None
    return rival(row, "best" if name == "DaCe at its best" else name)


if __name__ == "__main__":
    draw(json.loads((RESULTS / "programs.json").read_text()), RESULTS / "summary.png")
