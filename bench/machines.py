"""Programs by hand and by us on one machine, with any numbers of threads.

    python bench/machines.py --threads 1,2,16 --cases diffusion,tridiagonal,nabla2

Writes `programs.json` in `bench/results/<processor>/`, and prints by hand / ours for each row.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import programs
from results import Results
from rich.console import Console
from rich.table import Table
from run import RESULTS, machine
from timing import Effort

from fieldforge.runtime.calls.machine import processor


@click.command()
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default="diffusion,tridiagonal,nabla2")
@click.option("--rounds", default=7)
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
def main(threads: str, cases: str, rounds: int, folder: Path) -> None:
    """Measure, keep each row, and print the ratios."""
    programs.THREADS = tuple(int(part) for part in threads.split(","))
    place = folder / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")
    place.mkdir(parents=True, exist_ok=True)
    kept = Results(place / "programs.json", fresh=True)
    kept.describe(machine=machine())
    wish = programs.Wish(tuple(cases.split(",")), 1.0, Effort(rounds=rounds, value=0.01, share=1.0))
    console = Console(width=110)
    kept.describe(roofs=programs.measure(wish, kept.add, console))
    table = Table("program", "size", "type", "threads", "ms", "by hand / ours", "medians", "load")
    for row in kept.rows:
        table.add_row(*cells(row))
    console.print(table)


def cells(row: dict[str, Any]) -> list[str]:
    """Return what the table of a row shows."""
    ours = row["times"].get("fieldforge")
    hand = [times for name, times in row["times"].items() if name.startswith("by hand")]
    cells = [row["program"], row["size"], row["dtype"], str(row["threads"])]
    if ours is None or not hand:
        return [*cells, "?", "?", "?", str(row["load"])]
    best = min(hand, key=lambda times: times["least"])
    ratios = (best[kind] / ours[kind] for kind in ("least", "median"))
    return [*cells, f"{1e3 * ours['least']:.3g}", *(f"{r:.2f}" for r in ratios), str(row["load"])]


if __name__ == "__main__":
    main()
