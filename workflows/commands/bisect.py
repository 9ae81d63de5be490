"""The command `fieldforge bisect`: find where two executions of a capsule part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..backends.backend import Backend
from ..backends.ready_made import BACKENDS
from ..capsules.backend_text import backend_of
from ..capsules.bisecting import bisect as bisect_capsule
from ..capsules.capsule import Capsule
from ..capsules.replaying import chosen
from .arguments import report_errors
from .replay import capsule_argument, limit_option, tolerance_option


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
