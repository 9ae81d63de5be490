"""The command `fieldforge replay`: run a capsule here and compare with the recorded results."""

from __future__ import annotations

from pathlib import Path

import click

from ..backends.ready_made import BACKENDS
from ..capsules.capsule import LIMIT, Capsule
from ..capsules.replaying import replay as replay_capsule
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
