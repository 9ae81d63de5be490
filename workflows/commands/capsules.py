"""The commands on capsules: `replay` runs one here, `bisect` finds where two executions part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..backends.backend import BACKENDS, Backend
from ..capsules.backend_text import backend_of
from ..capsules.bisecting import bisect as bisect_capsule
from ..capsules.capsule import LIMIT, Capsule
from ..capsules.replaying import chosen, replay as replay_capsule
from .arguments import Size, report_errors

capsule_argument = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
tolerance_option = click.option(
    "--tolerance",
    type=float,
    default=0.0,
    help="Take values as equal up to this relative difference; the default compares bits.",
)
limit_option = click.option(
    "--limit",
    type=Size(),
    default=LIMIT,
    help="How many bytes the arrays of the capsule may take, such as 64G; the default is 8G.",
)


@click.command(epilog="Example: fieldforge replay smooth.capsule --backend reference")
@capsule_argument
@click.option(
    "--backend",
    type=click.Choice(sorted(BACKENDS)),
    help="Build with this backend and its default options; the default is as it was captured.",
)
@tolerance_option
@limit_option
@report_errors
def replay(file: Path, backend: str | None, tolerance: float, limit: int) -> None:
    """Build the program of a capsule here, run it, and compare with the record.

    `program.capture(...)` and FIELDFORGE_CAPTURE write capsules. The exit code is 1 if the results
    differ.
    """
    capsule = Capsule.load(file, limit)
    found = replay_capsule(capsule, backend, tolerance)
    click.echo(capsule.text)
    click.echo(found.text)
    if not found.agrees:
        raise SystemExit(1)


@click.command(
    epilog="Example: fieldforge bisect smooth.capsule --against cpu --option numerics=strict"
)
@capsule_argument
@click.option(
    "--against",
    type=click.Choice(sorted(BACKENDS)),
    help="The backend that is taken to be right: by default that of the capsule if an option is "
    "given, else 'reference'.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of that backend, such as numerics=strict; may be given several times.",
)
@tolerance_option
@limit_option
@report_errors
def bisect(
    file: Path, against: str | None, options: tuple[str, ...], tolerance: float, limit: int
) -> None:
    """Find the statement, option or pass where two executions of a capsule part.

    One execution is that of the capsule with its backend and options, the other that of --against
    and --option.
    """
    capsule = Capsule.load(file, limit)
    one = chosen(capsule, None)
    other = one if options and against is None else backend_of(against or "reference", {})
    click.echo(bisect_capsule(capsule, one, _with(other, options), tolerance).text)


def _with(backend: Backend, options: tuple[str, ...]) -> Backend:
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise click.BadParameter(f"Expected NAME=VALUE, got '{option}'.")
        backend = backend.with_options(**{name: _value(text)})
    return backend


def _value(text: str) -> Any:
    try:
        value = json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        return None if text.lower() == "none" else text
    return tuple(value) if isinstance(value, list) else value
