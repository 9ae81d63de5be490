"""The command `fieldforge report`: one page that tells builds, runs and recorded steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..batches.addresses import AddressError, find
from ..entries.entry_point import EntryPoint, entry_of
from .arguments import (
    backend_option,
    find_program,
    hinted_ranges,
    read_arguments,
    report_errors,
    tables_option,
    with_tables,
)


@click.command(
    epilog="Example: fieldforge report examples/terrain.py:smooth programs.lock -o report.html"
)
@click.argument("things", metavar="MODULE:NAME|LOCKFILE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@click.option(
    "--args",
    "words",
    metavar="MODULE:FUNCTION|SIZES",
    help="Measure the programs with these arguments: a function that returns them (':name' in the "
    "program's module), or sizes and scalars, as in 'I=256, K=80, u.I=-1:257, dt=0.5'.",
)
@tables_option
@click.option("--measure", is_flag=True, help="Measure the calls of recorded steps.")
@backend_option
@report_errors
def report(
    things: tuple[str, ...],
    output: Path,
    words: str | None,
    tables: str | None,
    measure: bool,
    backend: str | None,
) -> None:
    """Write a page about builds: outputs, passes, decisions, keys, and why each stage ran.

    NAME is a program, a recorded step, the result of 'precompile', a plan, or a function without
    parameters that returns one of these. LOCKFILE is a lock file. The page is one file of HTML of
    at most 1 MB that needs no network.
    """
    from ..summaries.report import report as write

    found = [thing for each in things for thing in _things(each, words, tables, backend)]
    with hinted_ranges(words):
        path = write(*found, to=output, measured=measure)
    click.echo(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


def _things(
    given: str, words: str | None, tables: str | None, backend: str | None
) -> Iterator[Any]:
    """Yield what an argument names."""
    if ":" not in given and Path(given).is_file():
        yield given
        return
    thing = _found(given)
    if thing is not None:
        yield thing
        return
    entry = find_program(given, backend)
    if words is None:
        yield with_tables(entry, tables, given)
        return
    if tables is not None:
        raise click.UsageError(
            "A measured run takes its tables from the function of '--args', as 'offset_provider'."
        )
    yield entry, read_arguments(words, entry, given)


def _found(address: str) -> Any:
    """Return what an address names if it is no program; a function is called."""
    if ":" not in address:
        return None
    try:
        thing = find(address)
    except AddressError:
        return None  # `find_program` says what is wrong
    if isinstance(entry_of(thing), EntryPoint):
        return None
    return thing() if callable(thing) and hasattr(thing, "__code__") else thing
