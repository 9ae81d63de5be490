"""The command for models that are not Python: `export`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import click

from ..batches.orders import with_some_backend
from ..export.export import export as write_library
from ..export.program import LAYOUTS, USUAL
from .arguments import find_thing, report_errors, tables_option, with_tables


@click.command(epilog="Example: fieldforge export model.py:smooth -o lib --layout first")
@click.argument("programs", nargs=-1, required=True, metavar="MODULE:PROGRAM...")
@click.option("-o", "--output", required=True, type=click.Path(file_okay=False), help="The folder.")
@click.option("--name", default="exported", show_default=True, help="The name of the library.")
@click.option(
    "--static",
    "words",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Compile in these values of a scalar parameter; may be repeated.",
)
@tables_option
@click.option(
    "--layout",
    "layouts",
    multiple=True,
    type=click.Choice(LAYOUTS),
    help="The dimension of fields that has unit stride; may be repeated.",
)
@report_errors
def export(
    programs: tuple[str, ...],
    output: str,
    name: str,
    words: tuple[str, ...],
    tables: str | None,
    layouts: tuple[str, ...],
) -> None:
    """Write programs, or set-ups, as a library with a C header and a Fortran module.

    A model calls them without Python. Each function checks its arguments as a call in Python does,
    and returns a code; the library has the text.
    """
    found = list(map(find_thing, programs))
    known: dict[str, Any] = {}
    for each, program in zip(found, programs, strict=True):
        entry = with_some_backend(each)
        if entry is not None:  # 'write_library' refuses what is no program
            known |= with_tables(entry, tables, program)._tables(None) or {}
    static = dict(map(_values, words))
    made = write_library(
        *found, to=output, name=name, static=static, offset_provider=known or None,
        layouts=layouts or (USUAL,),
    )  # fmt: skip
    for path in (made.library, made.header, made.module):
        click.echo(str(path))


def _values(words: str) -> tuple[str, list[Any]]:
    """Read the values of a static parameter, as TOML writes them."""
    name, sign, values = words.partition("=")
    try:
        read: Mapping[str, Any] = tomllib.loads(f"values = [{values}]")
    except tomllib.TOMLDecodeError as error:
        raise click.BadParameter(f"'{words}' is not NAME=VALUE,... with numbers.") from error
    if not sign or not read["values"]:
        raise click.BadParameter(f"'{words}' is not NAME=VALUE,... with numbers.")
    return name, read["values"]
