"""The command: run a case, print what came of it, write it as JSON, draw it.

python -m fieldforge.examples.shallow_water --case 5 --level 5 --days 1 --draw sphere.png
mpirun -n 4 python -m fieldforge.examples.shallow_water --case 2 --level 4 --days 5 --mpi
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import fieldforge as ff
from fieldforge.errors import FieldforgeError

from .cases import CASES
from .ranks import EXCHANGES, own_gpu, world
from .saved_state import SavedState, load, save as write_state
from .simulation import Case, Result, simulate

BACKENDS = {"cpu": ff.cpu, "gpu": ff.gpu, "reference": ff.reference, "none": None}


@click.command()
@click.option("--case", "name", type=click.Choice(sorted(CASES)), default="2", show_default=True)
@click.option("--level", type=click.IntRange(1, 9), default=4, show_default=True)
@click.option("--days", type=click.FloatRange(0.0, min_open=True), default=1.0, show_default=True)
@click.option("--backend", type=click.Choice(sorted(BACKENDS)), default="cpu", show_default=True)
@click.option("--strict", is_flag=True, help="the same bits on any number of ranks")
@click.option("--ranks", type=click.IntRange(1), default=1, help="parts, threads of this process")
@click.option("--mpi", is_flag=True, help="each process of mpirun is a rank")
@click.option("--exchange", "by", type=click.Choice(EXCHANGES), default="mpi", show_default=True)
@click.option("--grid", type=click.Path(path_type=Path), help="keep the grid in a file, or take it")
@click.option("--json", "output", type=click.Path(path_type=Path), help="write norms to a file")
@click.option("--save", type=click.Path(path_type=Path), help="write the last state to a file")
@click.option("--resume", type=click.Path(exists=True, path_type=Path), help="begin at such a file")
@click.option("--draw", type=click.Path(path_type=Path), help="write a picture")
@click.option("--every", type=click.FloatRange(0.0, min_open=True), help="hours between frames")
@click.option("--netcdf", type=click.Path(path_type=Path), help="write the frames to a file")
@click.option("--animate", type=click.Path(path_type=Path), help="write the frames as a GIF")
def main(
    name: str,
    level: int,
    days: float,
    backend: str,
    strict: bool,
    ranks: int,
    mpi: bool,
    by: str,
    grid: Path | None,
    output: Path | None,
    save: Path | None,
    resume: Path | None,
    draw: Path | None,
    every: float | None,
    netcdf: Path | None,
    animate: Path | None,
) -> None:
    """Run rotating shallow water on the sphere."""
    if mpi and backend == "gpu":
        own_gpu()
    comm = world() if mpi else None
    is_first = comm is None or comm.rank == 0
    console = Console(quiet=not is_first)
    chosen: Any = BACKENDS[backend]
    if strict and backend in ("cpu", "gpu"):
        chosen = chosen.with_options(numerics="strict")
    try:
        since = None if resume is None else load(resume, name, level)
        case = Case(name=name, level=level, days=days)
        result = _with_progress(
            console, case, chosen, ranks=ranks, comm=comm, by=by, since=since, hours=every,
            generators=grid,
        )  # fmt: skip
    except (FieldforgeError, ValueError) as error:
        if comm is not None:
            raise  # ends the other ranks, too
        console.print(f"[red]{type(error).__name__}[/red]: {error}", soft_wrap=True)
        sys.exit(1)
    if result is None:
        return
    console.print(table_of(result))
    if save is not None:
        write_state(
            SavedState(name=name, level=level, days=result.case.days, h=result.h, u=result.u), save
        )
    if output is not None:
        output.write_text(json.dumps(as_json(result, backend), indent=1) + "\n")
    if draw is not None:
        from .figure import draw as write_picture

        write_picture(result, draw)
        console.print(f"Wrote {draw}")
    if netcdf is not None:
        from .netcdf import write as write_netcdf

        write_netcdf(result, netcdf)
        console.print(f"Wrote {netcdf}")
    if animate is not None:
        from .figure import animate as write_animation

        write_animation(result, animate)
        console.print(f"Wrote {animate}")


def _with_progress(console: Console, case: Case, backend: Any, **options: Any) -> Result | None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed} of {task.total} steps"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"case {case.name}, level {case.level}", total=None)
        return simulate(
            case,
            backend,
            **options,
            told=lambda done, steps: progress.update(task, completed=done, total=steps),
        )


def as_json(result: Result, backend: str) -> dict[str, Any]:
    """Return what is known about a run, without its fields."""
    return {
        **attrs.asdict(result.case),
        "backend": backend,
        "ranks": result.ranks,
        "cells": result.grid.cells,
        "quality": attrs.asdict(result.quality),
        "steps": result.steps,
        "dt": result.dt,
        "setup_seconds": result.setup_seconds,
        "loop_seconds": result.loop_seconds,
        "compiled_in_loop": result.compiled_in_loop,
        "norms": None if result.height_norms is None else attrs.asdict(result.height_norms),
        "conserved": attrs.asdict(result.conserved),
        "drift": attrs.asdict(result.drift),
        "frames": [{"days": e.days, **attrs.asdict(e.conserved)} for e in result.frames],
    }


def table_of(result: Result) -> Table:
    """Return the measures of a run as a table for the terminal."""
    case, grid, mesh = result.case, result.grid, result.quality
    table = Table(title=f"Case {case.name}, {case.days:g} days", show_header=False)
    table.add_row("cells", f"{grid.cells}, {1e-3 * mesh.spacing * grid.radius:.0f} km apart")
    table.add_row("shortest over longest distance", f"{mesh.uniformity:.3f}")
    table.add_row("shortest edge, in spacings", f"{mesh.shortest_side:.3f}")
    table.add_row("largest distance from a centroid, in spacings", f"{mesh.off_centroid:.1e}")
    table.add_row("largest distance of a crossing from the middle", f"{mesh.off_middle:.3f}")
    table.add_row("ranks", str(result.ranks))
    table.add_row("steps", f"{result.steps} of {result.dt:.1f} s")
    table.add_row("set-up, loop", f"{result.setup_seconds:.2f} s, {result.loop_seconds:.2f} s")
    table.add_row("compiled in the loop", str(result.compiled_in_loop))
    for name, value in attrs.asdict(result.drift).items():
        table.add_row(f"change of {name.replace('_', ' ')}", f"{value:+.1e}")
    if result.height_norms is not None:
        for name, value in attrs.asdict(result.height_norms).items():
            table.add_row(f"{name} error of height", f"{value:.3e}")
    return table


if __name__ == "__main__":
    main()
