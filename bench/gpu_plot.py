"""The programs on a GPU in one picture: bytes a second of ours, by hand and by peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

OURS, HAND, PEERS, GREY = "#0b5394", "#e69138", {"JAX": "#38761d", "CuPy": "#a64d79"}, "#999999"
SHORT = {
    "rows of I": "rows of I",
    "rows of I, not aligned": "not aligned",
    "columns of 300 levels": "300 levels",
    "columns beside each other": "columns",
    "levels contiguous": "levels",
    "horizontal contiguous": "horizontal",
}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each precision: a row for each program and layout, the copy as the roof."""
    roof = next(row["copy_gb_s"] for row in rows if "copy_gb_s" in row)
    timed = [row for row in rows if "ms" in row]
    labels = list(dict.fromkeys((row["case"], row["layout"]) for row in timed))
    figure, panels = plt.subplots(1, 2, figsize=(13, 6.4), sharey=True)
    for panel, dtype in zip(panels, ("float64", "float32"), strict=True):
        chosen = [row for row in timed if row["dtype"] == dtype]
        for row in chosen:
            place = labels.index((row["case"], row["layout"]))
            moved = row["share"] * roof * row["ms"]  # bytes, in units of the axis times ms
            points = [(row["a_point_a_thread_ms"], GREY, "|", "ours without schedules")]
            points += [(ms, HAND, "D", "by hand") for ms in row["by_hand_ms"].values()]
            points += [(ms, PEERS[name], "o", name) for name, ms in row.get("peers_ms", {}).items()]
            panel.barh(place, moved / row["ms"], color=OURS, alpha=0.85, height=0.62, label="ours")
            for ms, colour, marker, label in points:
                panel.plot(
                    moved / ms, place, marker, color=colour, label=label, markersize=8,
                    markeredgewidth=2 if marker == "|" else 0.8,
                    markeredgecolor=colour if marker == "|" else "white",
                )  # fmt: skip
        panel.axvline(roof, color="black", linewidth=1.2)
        panel.text(roof, -0.75, f"copy {roof:,.0f} ", ha="right", va="center", fontsize=9)
        panel.set_yticks(range(len(labels)))
        panel.set_yticklabels([f"{case}, {SHORT[layout]}" for case, layout in labels])
        panel.set_ylim(len(labels) - 0.4, -1.2)
        panel.set_xlim(0, roof * 1.04)
        panel.set_xlabel("bytes that must move, GB a second")
        panel.set_title(dtype)
        panel.spines[["top", "right"]].set_visible(False)
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="lower center", ncol=len(handles), frameon=False
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
