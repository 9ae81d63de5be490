"""The command `doctor`: what this machine has, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from .arguments import report_errors
from .printed import print_table


@click.command(epilog="Example: fieldforge doctor")
@click.option("--machine", is_flag=True, help="Measure this node; keep the result.")
@click.option(
    "--mesh",
    metavar="FILE|LEVEL",
    help="Neighbour tables: a NetCDF file (UGRID, ICON), a .npz file of integer arrays with names "
    "such as C2E, or R<n>B<k>.",
)
@click.option(
    "--model",
    metavar="PATH",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Fit the costs of predictions to kept plans and their seconds; keep the result.",
)
@click.option("--class", "kind", metavar="NAME", help="With --model, fit a named class; keep none.")
@report_errors
def doctor(mesh: str | None, machine: bool, model: tuple[Path, ...], kind: str | None) -> None:
    """Check compiler, processor, threads, cache, GPU, MPI and DaCe, one line each.

    With --mesh, measure the memory locality of a mesh, now and in reverse Cuthill-McKee order. With
    --machine, measure this node's thresholds for threads and non-temporal stores, which programs
    use from the next start on, and some costs of predictions.
    """
    if model:
        from rich.console import Console

        from .predictions import costs

        costs.refit(model, kind, Console())
        return
    if machine:
        from . import machine_model

        machine_model.measure_and_keep()
    if mesh is None and not machine:
        from . import health

        found_lines = list(health.lines())
        click.echo("\n".join(map(str, found_lines)))
        if any(line.state == "wrong" for line in found_lines):
            raise SystemExit(1)
    if mesh is None:
        return
    from . import mesh_order

    found = mesh_order.nearness(mesh_order.read_mesh(mesh))
    lines = (
        (each.table, f"{each.rows}", f"{each.width}", f"{each.now:.1f}",
         "?" if each.reordered is None else f"{each.reordered:.1f}")
        for each in found
    )  # fmt: skip
    print_table(("table", "rows", "wide", "mean distance", "reordered"), lines)
    click.echo(mesh_order.advice(found))
