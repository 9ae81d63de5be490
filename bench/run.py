"""Measure the promises of fieldforge, each as a ratio or a share in one run; keep the results.

    python bench/run.py [startup] [cold] [large] [calls] [growth] [dace] [programs]
        [ranks] [models] [--cases a,b] [--scale 0.2] [--quick]

Writes `bench/results/<machine>/<part>.json` with the machine described, the plot of the programs
and the summary of docs/performance.md. A run that is quick or scaled down is a trial: it is printed
and left in `build/bench/`, and the page stays as it is. A case is named by its module in
`bench/cases/`, its function, or both: diffusion, flat, diffusion.flat.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
TRIALS = ROOT / "build" / "bench"
PARTS = ("startup", "cold", "large", "calls", "growth", "dace", "programs")
ASKED = ("ranks", "models")  # parts that run only if they are named


def machine() -> dict[str, Any]:
    """Describe where the figures were taken."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = f"{len(names)} x {names[0].partition(':')[2].strip()}" if names else model
    return {
        "processor": model,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "fieldforge": version("fieldforge"),
    }


def place(results: Path = RESULTS) -> Path:
    """Return the folder of this machine's results."""
    from fieldforge.runtime.calls.machine import machine_file

    folder = results / machine_file().stem
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def small_part(part: str, console: Console) -> None:
    """Run a part that is one table."""
    import calls
    import cold
    import dace_starts
    import growth
    import large
    import startup

    measures = {
        "startup": startup, "cold": cold, "large": large, "calls": calls, "growth": growth,
        "dace": dace_starts,
    }  # fmt: skip
    rows = measures[part].measure(console)
    table = Table(*rows[0], title=part)
    for row in rows:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    console.print(table)
    document = {"machine": machine(), "rows": rows}
    (place() / f"{part}.json").write_text(json.dumps(document, indent=1) + "\n")
    import page

    page.write()


def programs_part(cases: tuple[str, ...], scale: float, quick: bool, console: Console) -> None:
    """Measure the programs, keeping each row as soon as it is there; then plot and tabulate."""
    import page
    import plot
    import programs
    from machine_tables.programs import line, section
    from results import Results
    from timing import Effort

    is_trial = quick or scale != 1.0
    folder = TRIALS if is_trial else place()
    folder.mkdir(parents=True, exist_ok=True)
    kept = Results(folder / "programs.json", fresh=is_trial or not cases)
    kept.describe(machine=machine() | {"peer": "gt4py 1.2.3"}, scale=scale)
    effort = Effort(rounds=5, value=0.01, share=1.0) if quick else Effort()

    def keep(row: dict[str, Any]) -> None:
        kept.add(row)
        console.print(line(row))

    try:
        roofs = programs.measure(programs.Wish(cases, scale, effort), keep, console)
    except KeyError as unknown:
        raise click.BadParameter(str(unknown.args[0]), param_hint="--cases") from None
    kept.describe(roofs=programs.higher([kept.document["roofs"] or roofs, roofs]))
    if not kept.rows:
        return
    plot.draw(kept.document, folder / "programs.png")
    if is_trial:
        text = "\n".join(section(kept.document))
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    else:
        page.write()
    console.print(f"Results are in {folder.relative_to(ROOT)}.")


def ranks_part(quick: bool, console: Console) -> None:
    """Measure the scaling of a model on all processors of this machine."""
    import ranks

    counts = [2**n for n in range(8) if 2**n <= len(os.sched_getaffinity(0))]
    by = "mpi" if ranks.has_mpi() else "threads"
    levels = (5, 4, 10) if quick else (7, 6, 40)
    console.print(f"Results are in {ranks.measure(counts, *levels, by, console.print)}.")


def models_part(quick: bool, console: Console) -> None:
    """Measure the models on the sphere."""
    import models

    sizes, threads = (4, 3, 20) if quick else (6, 5, 60), len(os.sched_getaffinity(0))
    console.print(f"Results are in {models.measure(*sizes, threads, console.print)}.")


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, *ASKED]))
@click.option(
    "--cases", default="", help="Programs to measure, by name with commas; all if left out."
)
@click.option("--scale", default=1.0, help="Share of the full size; less than 1 is a trial.")
@click.option("--quick", is_flag=True, help="Few short rounds: a trial.")
def main(parts: tuple[str, ...], cases: str, scale: float, quick: bool) -> None:
    """Run the parts that were asked for: all, or the programs alone if some are chosen."""
    console = Console()
    RESULTS.mkdir(exist_ok=True)
    chosen = tuple(name for name in cases.split(",") if name)
    is_narrow = bool(chosen) or quick or scale != 1.0
    with tempfile.TemporaryDirectory(prefix="fieldforge-bench-") as store:
        os.environ["FIELDFORGE_CACHE_DIR"] = store  # every build is a cold one
        for part in parts or (("programs",) if is_narrow else PARTS):
            if part == "programs":
                programs_part(chosen, scale, quick, console)
            elif part == "ranks":
                ranks_part(quick, console)
            elif part == "models":
                models_part(quick, console)
            else:
                small_part(part, console)


if __name__ == "__main__":
    main()
