"""Commands that look inside a build: `show`, `graph`, `explain` and `stages`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from ...runtime.process import WorkflowError
from ..backends import pipelines
from ..backends.backend import Backend
from ..backends.first_tier import build_after, tiers_of, why_no_first_tier
from ..engine.engine import engine
from ..graph.options import options_of
from ..graph.text import show_value
from .arguments import (
    backend_of,
    backend_option,
    find_program,
    program_argument,
    report_errors,
    tables_option,
    with_tables,
)


@click.command(
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
    help="Print the IR before and after this pass of the stage, of stage 'codegen' by default.",
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
@tables_option
@backend_option
@report_errors
def show(
    program: str,
    stage: str | None,
    loops: bool,
    step: str | None,
    html: bool,
    folder: Path,
    tables: str | None,
    backend: str | None,
) -> None:
    """Print the output of a stage for a program, from the store if it is there."""
    found = with_tables(find_program(program, backend), tables, program)
    if html:
        pages = found.trace(until=stage or "codegen")[stage or "codegen"].pages
        for path in write_pages(pages, step, folder, program.rpartition(":")[2]):
            click.echo(path)
        return
    if stage is None and step is None:
        click.echo(str(found.trace()))
        return
    stage = stage or "codegen"
    shown = found.trace(until=stage)[stage]
    click.echo(_around(shown.after, step) if step else shown.loops if loops else shown.text)


def _around(after: Mapping[str, str], step: str) -> str:
    """Return the text after a pass, below that before it if it is not the first."""
    text = f"after '{step}':\n{after[step]}"
    before = list(after)[: list(after).index(step)][-1:]
    return "\n".join([*(f"before '{step}':\n{after[name]}" for name in before), text])


@click.command(epilog="Example: fieldforge graph examples/terrain.py:smooth --mermaid")
@program_argument
@click.option("--mermaid", is_flag=True, help="Print the graph in the mermaid language.")
@click.option("--text", is_flag=True, help="Print the text that 'Workflow.parse' reads.")
@backend_option
@report_errors
def graph(program: str, mermaid: bool, text: bool, backend: str | None) -> None:
    """Draw the stages of a program's workflow, and the artifacts between them."""
    flow = backend_of(find_program(program, backend)).workflow
    click.echo(flow.mermaid() if mermaid else str(flow) if text else flow.draw())


@click.command(epilog="Example: fieldforge explain examples/terrain.py:smooth")
@program_argument
@click.option(
    "--sizes",
    metavar="I=128,...",
    help="Predict the seconds of calls with such extents, and with other choices of the compiler.",
)
@click.option("--machine", help="The class of machines that --sizes predicts for.")
@tables_option
@backend_option
@report_errors
def explain(
    program: str, sizes: str | None, machine: str | None, tables: str | None, backend: str | None
) -> None:
    """Explain what changed since the nearest build in the store, then build stage by stage.

    That build may come from another process or another machine.
    """
    from ..batches.orders import changes, orders_of

    found = with_tables(find_program(program, backend), tables, program)
    provider = found._tables(None)
    usual = [found.order(found.usual(provider), provider, engine())] if found.open_static() else []
    told = [(order.name, changes(order)) for order in usual or orders_of(found)]
    trace = found.trace()  # afterwards the store has what these look for
    for name, since in told:
        if since is not None and (since.record is not None or trace.is_new):
            click.echo(f"{name}: {since}")
    click.echo(trace.explain())
    if found.backend is not None and found.backend.name == "cpu":
        click.echo(f"first tier: {_first_tier(found.backend)}.")
    if sizes is not None:
        from .predictions.plans import predictions

        click.echo(predictions(found, sizes, machine))


def _first_tier(backend: Backend) -> str:
    tiers, reason = tiers_of(backend), why_no_first_tier(backend)
    if reason is not None:
        return f"none, because {reason}"
    after = f"runs calls of what is not built, and builds it after {build_after(backend):g} s"
    return {"both": after, "rows": "runs all calls"}.get(tiers, "off by the option 'tiers'")


@click.command(epilog="Example: fieldforge stages")
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


def write_pages(
    pages: Mapping[str, str], step: str | None, folder: Path, program: str
) -> Iterator[Path]:
    """Write the page after each pass, or after `step` only, and yield its path.

    Raises:
        WorkflowError: if the stage has no pages, or ran no pass of that name.

    """
    if not pages:
        raise WorkflowError(
            "This backend has no viewer of its IR.",
            hints=["That of DaCe shows SDFGs: 'fieldforge show ... --html --backend dace_cpu'."],
        )
    chosen = {step: pages[step]} if step else pages
    places = {name: place for place, name in enumerate(pages)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in chosen.items():
        path = folder / f"{program}-{places[name]}-{name}.html"
        path.write_text(text)
        yield path
