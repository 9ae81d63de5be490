"""The command `fieldforge`: look at programs, stages, graphs and the store."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import click

from ...cache.memory import Memory
from ...cache.store import Store
from ...runtime.process.errors import FieldforgeError
from ..backends import pipelines
from ..backends.backend import Backend
from ..backends.ready_made import BACKENDS, find_backend
from ..batches.missing_builds import changes
from ..batches.orders import orders_of
from ..engine.engine import Engine
from ..engine.session import using
from ..entries.entry_point import EntryPoint
from ..graph.options import options_of
from ..graph.text import show_value
from .addresses import AddressError, load_module

PACKAGE = __name__.partition(".")[0]
BUILDS = ("audit", "build", "check", "diff")
OTHERS = ("migrate", "run")  # each in a module of its own name
DEMO = f"{PACKAGE}.examples.demo.command"  # by name: examples stand above all floors


class Commands(click.Group):
    """The commands; 'demo' is looked for only when somebody asks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, 'demo' among them where it is there."""
        own = [*super().list_commands(ctx), *BUILDS, *OTHERS, "cache"]
        return sorted([*own, *(["demo"] if _has_demo() else [])])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; those of the store, the demo and for batches are their own modules."""
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


def told(command: Callable[..., None]) -> Callable[..., None]:
    """End a command on one of our errors with its words and exit code 1, without a traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except FieldforgeError as error:
            notes = getattr(error, "__notes__", ())
            raise click.ClickException("\n".join([str(error), *notes])) from error

    return run


program_argument = click.argument("program", metavar="MODULE:PROGRAM")
backend_option = click.option(
    "--backend",
    type=click.Choice(sorted(BACKENDS)),
    help="Build by this backend instead of the program's own (for embedded ones: cpu).",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(importlib.metadata.version(PACKAGE), prog_name=PACKAGE)
def main() -> None:
    """Stencil programs in Python, compiled to the speed of memory.

    A program is named as MODULE:PROGRAM, where MODULE is what you would import or the path of a
    file: `model.diffusion:smooth` or `examples/terrain.py:smooth`.
    """


@main.command(
    epilog="Example: fieldforge show examples/terrain.py:smooth --stage lower",
)
@program_argument
@click.option("--stage", help="Print what this stage gave; left out: a table of all stages.")
@click.option("--loops", is_flag=True, help="Print the loop IR of the stage instead of its text.")
@click.option(
    "--pass",
    "step",
    help="Print the IR after this pass of the stage, of stage 'codegen' by default.",
)
@backend_option
@told
def show(
    program: str, stage: str | None, loops: bool, step: str | None, backend: str | None
) -> None:
    """Print what a stage made of a program, from the store where it is there."""
    found = _find(program, backend)
    if stage is None and step is None:
        click.echo(str(found.trace()))
        return
    stage = stage or "codegen"
    shown = found.trace(until=stage)[stage]
    click.echo(shown.after[step] if step else shown.loops if loops else shown.text)


@main.command(epilog="Example: fieldforge graph examples/terrain.py:smooth --mermaid")
@program_argument
@click.option("--mermaid", is_flag=True, help="Print it in the mermaid language.")
@click.option("--text", is_flag=True, help="Print the text that 'Workflow.parse' reads.")
@backend_option
@told
def graph(program: str, mermaid: bool, text: bool, backend: str | None) -> None:
    """Draw the stages that a program goes through, and what flows between them."""
    flow = _backend_of(_find(program, backend)).workflow
    click.echo(flow.mermaid() if mermaid else str(flow) if text else flow.draw())


@main.command(epilog="Example: fieldforge explain examples/terrain.py:smooth")
@program_argument
@backend_option
@told
def explain(program: str, backend: str | None) -> None:
    """Say what has changed since the nearest build in the store, then build it stage by stage.

    That build may be of another process or another machine.
    """
    found = _find(program, backend)
    for order in orders_of(found):
        since = changes(order)
        if since is not None and since.record is not None:
            click.echo(f"{order.name}: {since}")
    click.echo(found.trace().explain())


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


@main.command(epilog="Example: fieldforge doctor --mesh R2B4")
@click.option(
    "--mesh",
    metavar="FILE|LEVEL",
    required=True,
    help="Tables of neighbours: a .npz file of integer arrays with names such as C2E, or R<n>B<k>.",
)
@told
def doctor(mesh: str) -> None:
    """Say how near neighbours lie in memory, and what a reverse Cuthill-McKee order would give."""
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


def _find(program: str, backend: str | None, store: Store | None = None) -> EntryPoint:
    """Import a program without touching the store, so that what follows can be told apart.

    With another store, what decorators look up goes through that one.
    """
    where, colon, name = program.rpartition(":")
    if not colon or not where or not name:
        raise click.BadParameter(f"Expected 'MODULE:PROGRAM', got '{program}'.")
    with using(Engine(store or Memory())):
        module = _load(where)
    found = getattr(module, name, None)
    if not isinstance(found, EntryPoint):
        known = [
            key for key, value in sorted(vars(module).items()) if isinstance(value, EntryPoint)
        ]
        raise click.BadParameter(
            f"'{where}' has no program or operator '{name}'; it has {', '.join(known) or 'none'}."
        )
    if backend is not None or found.backend is None:
        return found.with_backend(backend or "cpu")
    return found


def _backend_of(entry: EntryPoint) -> Backend:
    found = find_backend(entry.backend)
    assert found is not None, "'_find' gives every program a backend"
    return found


def _load(where: str) -> ModuleType:
    try:
        return load_module(where)
    except AddressError as error:
        raise click.BadParameter(str(error)) from error
