"""The command: make a twin experiment, print what came of it, write it as JSON, draw it.

python -m fieldforge.examples.assimilation --level 4 --draw analysis.png
mpirun -n 4 python -m fieldforge.examples.assimilation --level 4 --mpi
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import fieldforge as ff
from fieldforge.errors import FieldforgeError

from ..shallow_water.cases import CASES
from ..shallow_water.ranks import exchanges_of, world
from .experiment import Analysis, Assimilation, Experiment
from .ranks import on_threads

BACKENDS = {"cpu": ff.cpu, "gpu": ff.gpu, "reference": ff.reference}


@click.command()
@click.option("--case", type=click.Choice(sorted(CASES)), default="6", show_default=True)
@click.option("--level", type=click.IntRange(1, 9), default=4, show_default=True)
@click.option("--hours", type=click.IntRange(1), default=12, show_default=True)
@click.option("--share", type=click.FloatRange(0, 1), default=0.05, help="of cells that are seen")
@click.option("--noise", type=click.FloatRange(0, min_open=True), default=1.0, help="in metres")
@click.option("--iterations", type=click.IntRange(1), default=30, show_default=True)
@click.option("--checkpoints", type=click.IntRange(1), default=20, show_default=True)
@click.option("--backend", type=click.Choice(sorted(BACKENDS)), default="cpu", show_default=True)
@click.option("--ranks", type=click.IntRange(1), default=1, help="parts, threads of this process")
@click.option("--mpi", is_flag=True, help="each process of mpirun is a rank")
@click.option("--strict", is_flag=True, help="the same bits on any number of ranks")
@click.option("--seed", default=1, show_default=True, help="of the errors")
@click.option("--json", "output", type=click.Path(path_type=Path), help="write figures to a file")
@click.option("--draw", type=click.Path(path_type=Path), help="write a picture")
def main(
    backend: str,
    ranks: int,
    mpi: bool,
    strict: bool,
    output: Path | None,
    draw: Path | None,
    **chosen: Any,
) -> None:
    """Find the initial height of a run on the sphere from a few noisy observations."""
    console, used = Console(), BACKENDS[backend]
    used = used.with_options(numerics="strict") if strict else used
    try:
        with Progress(console=console, transient=True) as progress:
            analysis = _analysed(Experiment(**chosen), used, ranks, mpi, progress)
    except (FieldforgeError, ValueError) as error:
        console.print(f"[red]{type(error).__name__}[/red]: {error}", soft_wrap=True)
        sys.exit(1)
    if analysis is None:  # the first rank tells
        return
    console.print(table_of(analysis))
    if output is not None:
        output.write_text(json.dumps(as_json(analysis, backend), indent=1) + "\n")
    if draw is not None:
        from .figure import draw as write_picture

        write_picture(analysis, draw)
        console.print(f"Wrote {draw}")


def _analysed(
    experiment: Experiment, backend: Any, ranks: int, mpi: bool, progress: Progress
) -> Analysis | None:
    """Return the analysis; None on the ranks of MPI but the first."""
    task = progress.add_task("iterations", total=None)

    def tell(done: int, most: int) -> None:
        progress.update(task, completed=done, total=most)

    def share(comm: Any, exchange_of: Any = None) -> Analysis:
        own = Assimilation(experiment, backend, comm, exchange_of)
        return own.analyse(tell) if comm.rank == 0 else own.analyse()

    if mpi:
        comm = world()
        found = share(comm, lambda part: exchanges_of([part], comm)[0])
        return found if comm.rank == 0 else None
    return on_threads(ranks, lambda comm: share(comm, comm.exchange))[0]


def as_json(analysis: Analysis, backend: str) -> dict[str, Any]:
    """Return what is known about an analysis, without its fields."""
    return {
        **attrs.asdict(analysis.experiment),
        "backend": backend,
        "cells": analysis.grid.cells,
        "seen": len(analysis.cells),
        "steps": analysis.steps,
        "forward_steps": analysis.report.forward_steps,
        "gradients": analysis.gradients,
        "seconds": analysis.seconds,
        "minimisation": [attrs.asdict(each) for each in analysis.iterations],
    }


def table_of(analysis: Analysis) -> Table:
    """Return the measures of an analysis as a table for the terminal."""
    first, last = analysis.iterations[0], analysis.iterations[-1]
    table = Table(title="4D-Var on the sphere", show_header=False)
    table.add_row("cells, seen each hour", f"{analysis.grid.cells}, {len(analysis.cells)}")
    table.add_row("steps of a run", str(analysis.steps))
    table.add_row("steps more for a gradient", str(analysis.report.forward_steps))
    table.add_row("iterations, gradients", f"{len(analysis.iterations) - 1}, {analysis.gradients}")
    table.add_row("seconds", f"{analysis.seconds:.1f}")
    table.add_row("cost", f"{first.cost:.4g} to {last.cost:.4g}")
    table.add_row("norm of its gradient", f"{first.gradient:.3g} to {last.gradient:.3g}")
    table.add_row("error of the thickness", f"{first.error:.2f} m to {last.error:.2f} m")
    return table


if __name__ == "__main__":
    main()
