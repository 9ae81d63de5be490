"""The table and the picture of the programs on a GPU, from the files of results.

    python bench/gpu_table.py [FOLDER]    of results, by default of the H100

Writes the table into docs/performance.md and draws `gpu_programs.png` into the folder.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gpu_plot
import page
from machine_tables import table

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "bench" / "results" / "nvidia-h100-80gb-hbm3"
BEGIN = "<!-- GPU: made by `python bench/gpu_table.py`; edits are lost -->"
END = "<!-- end of GPU -->"
HEAD = (
    "program", "layout", "precision", "ms", "share of copy", "a point a thread: ms", "by hand: ms",
    "by hand / ours", "JAX / ours", "CuPy / ours",
)  # fmt: skip
Row = dict[str, Any]


def main() -> None:
    """Write the table and the picture of a folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    rows = results(folder)
    page.put("\n".join(lines(rows)), ROOT / "docs" / "performance.md", BEGIN, END)
    gpu_plot.draw(rows, folder / "gpu_programs.png")


def results(folder: Path) -> list[Row]:
    """Return the rows of the programs; kernels by hand in patches come from their own file."""
    rows: list[Row] = json.loads((folder / "gpu_programs.json").read_text())
    patches = folder / "gpu_patch_sharing.json"
    if not patches.exists():
        return rows
    by_hand = [row for row in json.loads(patches.read_text()) if "by_hand" in row]
    for row in rows:
        found = [each["ms"] for each in by_hand if _is_same(row, each)]
        if "ms" in row and found:
            row["by_hand_ms"]["in patches"] = min(found)
    return rows


def _is_same(row: Row, by_hand: Row) -> bool:
    """Tell whether a kernel by hand, with levels contiguous, computes the program of a row."""
    mine = (row.get("case"), row.get("dtype"), row.get("layout"))
    return mine == (by_hand["case"], by_hand["dtype"], "levels contiguous")


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Return the table, float64 first."""
    timed = [row for row in rows if "ms" in row]
    timed.sort(key=lambda row: row["dtype"], reverse=True)
    return table(HEAD, [_cells(row) for row in timed])


def _cells(row: Row) -> list[str]:
    """Return the cells of a row; a dash where nothing was measured."""
    hand = min(row["by_hand_ms"].values(), default=None)
    peers = (row["peers_ms"].get(name) for name in ("JAX", "CuPy"))
    return [
        row["case"], row["layout"], row["dtype"], f"{row['ms']:.3f}", f"{row['share']:.2f}",
        f"{row['a_point_a_thread_ms']:.3f}", "–" if hand is None else f"{hand:.3f}",
        "–" if hand is None else f"{hand / row['ms']:.2f}",
        *("–" if ms is None else f"{ms / row['ms']:.1f}x" for ms in peers),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
