"""The command `fieldforge`: inspect programs, stages, graphs and the store."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import click

from ..backends import pipelines
from ..graph.options import options_of
from ..graph.text import show_value
from .arguments import backend_of, backend_option, find_program, program_argument, report_errors

PACKAGE = __name__.partition(".")[0]
BUILDS = ("audit", "build", "check", "diff")
# each in a module of its own name
OTHERS = ("bisect", "config", "export", "migrate", "options", "replay", "report", "run", "tune")
DEMO = f"{PACKAGE}.examples.demo.command"  # no import statement may name examples


class Commands(click.Group):
    """The group of all commands; imports each module of commands when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, with 'demo' if the examples are installed."""
        own = [*super().list_commands(ctx), *BUILDS, *OTHERS, "cache"]
        return sorted([*own, *(["demo"] if _has_demo() else [])])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; those for the store, batches and the demo have modules of their own."""
        if cmd_name == "cache":
            from .cache import cache

            return cache
        if cmd_name in BUILDS:
            from . import builds as cli_builds

            return cli_builds.COMMANDS[cmd_name]
        if cmd_name in OTHERS:
            module = importlib.import_module(f".{cmd_name}", __package__)
            return getattr(module, cmd_name)  # type: ignore[no-any-return]  # by contract
        if cmd_name == "demo" and _has_demo():
            return importlib.import_module(DEMO).demo  # type: ignore[no-any-return]  # by contract
        return super().get_command(ctx, cmd_name)


def _has_demo() -> bool:
    try:
        return importlib.util.find_spec(DEMO) is not None
    except ModuleNotFoundError:  # a wheel without the examples
        return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sys.modules[PACKAGE].__version__, prog_name=PACKAGE)
def main() -> None:
    """Stencil programs in Python, compiled to the speed of memory.

    Name a program as MODULE:PROGRAM, where MODULE is an importable name or the path of a file:
    `model.diffusion:smooth` or `examples/terrain.py:smooth`.
    """


@main.command(
    epilog="Example: fieldforge show examples/terrain.py:smooth --stage lower",
)
@program_argument
@click.option(
    "--stage", help="Print the output of this stage; the default is a table of all stages."
)
@click.option("--loops", is_flag=True, help="Print the loop IR of the stage instead of its text.")
@click.option(
    "--pass",
    "step",
    help="Print the IR after this pass of the stage, of stage 'codegen' by default.",
)
@click.option(
    "--html",
    is_flag=True,
    help="Write a page for a browser after each pass: DaCe's viewer of an SDFG.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="The folder of these pages; the current one by default.",
)
@backend_option
@report_errors
def show(
    program: str,
    stage: str | None,
    loops: bool,
    step: str | None,
    html: bool,
    folder: Path,
    backend: str | None,
) -> None:
    """Print the output of a stage for a program, from the store if it is there."""
    found = find_program(program, backend)
    if html:
        from .viewing import write_pages

        pages = found.trace(until=stage or "codegen")[stage or "codegen"].pages
        for path in write_pages(pages, step, folder, program.rpartition(":")[2]):
            click.echo(path)
        return
    if stage is None and step is None:
        click.echo(str(found.trace()))
        return
    stage = stage or "codegen"
    shown = found.trace(until=stage)[stage]
    click.echo(shown.after[step] if step else shown.loops if loops else shown.text)


@main.command(epilog="Example: fieldforge graph examples/terrain.py:smooth --mermaid")
@program_argument
@click.option("--mermaid", is_flag=True, help="Print the graph in the mermaid language.")
@click.option("--text", is_flag=True, help="Print the text that 'Workflow.parse' reads.")
@backend_option
@report_errors
def graph(program: str, mermaid: bool, text: bool, backend: str | None) -> None:
    """Draw the stages of a program's workflow, and the artifacts between them."""
    flow = backend_of(find_program(program, backend)).workflow
    click.echo(flow.mermaid() if mermaid else str(flow) if text else flow.draw())


@main.command(epilog="Example: fieldforge explain examples/terrain.py:smooth")
@program_argument
@backend_option
@report_errors
def explain(program: str, backend: str | None) -> None:
    """Explain what changed since the nearest build in the store, then build stage by stage.

    That build may come from another process or another machine.
    """
    from ..batches.missing_builds import changes
    from ..batches.orders import orders_of

    found = find_program(program, backend)
    told = [(order.name, changes(order)) for order in orders_of(found)]
    trace = found.trace()  # afterwards the store has what these look for
    for name, since in told:
        if since is not None and (since.record is not None or trace.is_new):
            click.echo(f"{name}: {since}")
    click.echo(trace.explain())


@main.command(epilog="Example: fieldforge stages")
def stages() -> None:
    """List the stages, their ports and their options."""
    for name, kind in pipelines.stages().items():
        doc = (kind.__doc__ or "").partition("\n")[0]
        click.secho(name, bold=True, nl=False)
        click.echo(f"  {', '.join(kind.needs)} -> {', '.join(kind.provides)}")
        click.echo(f"    {doc}")
        made = kind()
        options = [f"{each}={show_value(getattr(made, each))}" for each in options_of(made)]
        if options:
            click.echo(f"    options: {', '.join(options)}")


@main.command(epilog="Example: fieldforge doctor")
@click.option("--machine", is_flag=True, help="Measure this node; keep the result.")
@click.option(
    "--mesh",
    metavar="FILE|LEVEL",
    help="Neighbour tables: a .npz file of integer arrays with names such as C2E, or R<n>B<k>.",
)
@report_errors
def doctor(mesh: str | None, machine: bool) -> None:
    """Check compiler, processor, threads, cache, GPU, MPI and DaCe, one line each.

    With --mesh, measure the memory locality of a mesh, now and in reverse Cuthill-McKee order. With
    --machine, measure this node's thresholds for threads and non-temporal stores, which programs
    use from the next start on.
    """
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
    from rich.console import Console
    from rich.table import Table

    from . import mesh_order

    table = Table("table", "rows", "wide", "mean distance", "reordered")
    found = mesh_order.nearness(mesh_order.read_mesh(mesh))
    for each in found:
        table.add_row(
            each.table, f"{each.rows}", f"{each.width}", f"{each.now:.1f}",
            "?" if each.reordered is None else f"{each.reordered:.1f}",
        )  # fmt: skip
    Console().print(table)
    click.echo(mesh_order.advice(found))
