"""The command on speed: `tune`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from ..entries.decorated import address_of
from ..options.database import tuned_file, use_options
from ..options.tags import backend_for
from ..tuning.report import Report
from ..tuning.tune import TuningInterrupt, tune as find_options
from .arguments import find_program, hinted_ranges, program_argument, read_arguments, report_errors
from .printed import print_table

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}


def _seconds(_: click.Context, __: click.Parameter, value: str) -> float:
    """Return the seconds of a time such as 60s, 5min or 1h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", value.strip())
    if found is None or found[2] not in _UNITS:
        raise click.BadParameter(f"'{value}' is no time; write it as in 60s, 5min or 1h.")
    return float(found[1]) * _UNITS[found[2]]


@click.command(
    epilog="Example: fieldforge tune model.py:smooth --args 'I=256, K=80' --file model.toml"
)
@program_argument
@click.option(
    "--args",
    "words",
    required=True,
    metavar="MODULE:FUNCTION|SIZES",
    help="A function that returns the arguments (':name' in the program's module), or sizes and "
    "scalars, as in 'I=256, K=80, u.I=-1:257, dt=0.5', for random fields.",
)
@click.option(
    "--budget", callback=_seconds, default="60s", show_default=True, help="Time to spend."
)
@click.option("--option", "names", multiple=True, help="Try this option only; may be repeated.")
@click.option("--backend", default="cpu", show_default=True, help="The tag of the backend.")
@click.option(
    "--file",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The model's option file; made if there is none.",
)
@report_errors
def tune(
    program: str,
    words: str,
    budget: float,
    names: tuple[str, ...],
    backend: str,
    file: Path | None,
) -> None:
    """Find the fastest options of a program on this machine, and keep them.

    They go to MODEL.tuned.toml beside the model's file of options, which every later start reads.
    Ctrl-C keeps what was found; the next run goes on from there.
    """
    if file is not None:
        _make(file)
        use_options(file)
    found = find_program(program, None)
    tagged = backend_for(backend, address_of(found.__definition__))
    if tagged is None:
        raise click.BadParameter("Embedded programs have no options.")
    entry = found._changed(backend=tagged)
    arguments = read_arguments(words, entry, program)
    try:
        with hinted_ranges(words):
            report = find_options(entry, arguments, budget=budget, options=names or None)
    except TuningInterrupt as interrupt:
        _show(interrupt.report)
        sys.exit(130)
    _show(report)


def _make(file: Path) -> None:
    """Make the model's file of options, which every later start names."""
    if file.exists():
        return
    try:
        file.write_text(
            f"# Options of the model; 'tune' writes what it found to {tuned_file(file).name}.\n"
        )
    except OSError as error:
        raise click.BadParameter(f"The file '{file}' cannot be made: {error.strerror}.") from error


def _show(report: Report) -> None:
    title = f"{report.program} on {report.backend}"
    print_table(("tried", "compared with", "found"), report.rows, title, box=None)
    click.echo(report.summary)
    if report.options and report.file is None:
        click.echo(f"Not kept: name the model's file of options with --file {Path('model.toml')}.")
