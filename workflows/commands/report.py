"""The command `fieldforge report`: one page that tells a build."""

from __future__ import annotations

from pathlib import Path

import click

from ..reports.page import page
from .arguments import backend_of, backend_option, find_program, report_errors


@click.command(epilog="Example: fieldforge report examples/terrain.py:smooth -o report.html")
@click.argument("programs", metavar="MODULE:PROGRAM...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@backend_option
@report_errors
def report(programs: tuple[str, ...], output: Path, backend: str | None) -> None:
    """Write a page with the stages of a build: outputs, passes, decisions, keys, and why it ran.

    The page is one file of HTML that needs no network. Several programs stand one below the other.
    """
    views = []
    for each in programs:
        found = find_program(each, backend)
        title = f"{each} on backend '{backend_of(found).name}'"
        views.append(found.trace().view(title, whole=True))
    text = page(views)
    output.write_text(text, encoding="utf-8")
    click.echo(f"{output}: {len(text.encode()) / 1e3:.0f} kB")
