"""The commands on options: `options show` and `options check`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import click

from ..backends.backend import Backend, find_backend
from ..batches.addresses import load_module
from ..entries.decorated import address_of
from ..entries.entry_point import EntryPoint, entry_of
from ..options.database import MODEL, checked, database, use_options
from ..options.machine_names import names_implied, names_of
from ..options.option_file import read_options
from ..options.tags import DEVICES, chosen, split_tag
from ..options.usage import matching_nothing, rows, unused
from .arguments import backend_of, find_program, program_argument, report_errors
from .printed import print_table

model_option = click.option(
    "--file", "file", type=click.Path(exists=True, dir_okay=False), help="The model's option file."
)


@click.group()
def options() -> None:
    """Show which options programs are built with, and check the files that set them."""


@options.command(epilog="Example: fieldforge options show model.py:smooth --arch sm_90 --why")
@program_argument
@click.option("--backend", help="The tag of the backend; by default that of the program, or 'cpu'.")
@click.option(
    "--arch", multiple=True, help="A name of the architecture, such as sm_90, A100 or znver4."
)
@click.option("--why", is_flag=True, help="Also show what each value overrules.")
@model_option
@report_errors
def show(
    program: str, backend: str | None, arch: tuple[str, ...], why: bool, file: str | None
) -> None:
    """Print each effective option of a program, with the file and line that set it.

    `--arch` shows the options on that architecture; it need not be there.
    """
    if file is not None:
        use_options(file)
    entry = find_program(program, None)
    address = address_of(entry.__definition__)
    tag, options = split_tag(backend or backend_of(entry).name, {})
    archs = arch or tuple(options.values())
    found = _plain_backend(tag, address, names_implied(archs))
    names = names_implied(archs) or names_of(found.target)
    lines = rows(database().effective(found, address, names), why)
    title = f"{address} on {found.name}"
    print_table(("option", "value", "set by"), lines, title, box=None)
    click.echo(f"architecture: {', '.join(archs or names) or 'unknown'}")


@options.command(epilog="Example: fieldforge options check model.toml model.dycore model.diffusion")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("modules", nargs=-1, metavar="[MODULE...]")
@report_errors
def check(file: str, modules: tuple[str, ...]) -> None:
    """Check the names and values of an option file, and list old spellings and unused entries.

    The modules, or files, are those of the model; without them only entries for architectures that
    no machine has are called unused. Exit with 1 if there are any errors or unused entries.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DeprecationWarning)
        entries = checked(read_options(Path(file), MODEL))
    for said in dict.fromkeys(str(each.message) for each in caught):
        click.echo(said)
    programs = [name for module in modules for name in _programs(module)]
    idle = unused(entries, programs) if modules else matching_nothing(entries)
    for entry in idle:
        patterns = ", ".join(entry.programs) or "every program"
        click.echo(f"{entry.origin}: unused: decides nothing for {patterns}")
    click.echo(f"{len(entries) - len(idle)} of {len(entries)} entries are used.")
    if idle:
        sys.exit(1)


def _plain_backend(tag: str, program: str, archs: tuple[str, ...]) -> Backend:
    """Return the backend that a tag means for a program there, with the defaults of its options."""
    found = find_backend(tag)
    if found is None:
        raise click.BadParameter("Embedded programs have no options.")
    return chosen(tag, found, program, database(), archs) if tag in DEVICES else found


def _programs(module: str) -> Iterator[str]:
    found = load_module(module)
    for value in vars(found).values():
        entry = entry_of(value)
        if isinstance(entry, EntryPoint):
            yield address_of(entry.__definition__)
