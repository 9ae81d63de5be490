"""The command `fieldforge config`: every setting with its value and its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import pathsep
from pathlib import Path
from typing import Any

import attrs
import click

from ...runtime.process.settings import PREFIX, Settings, current, environment_with
from .arguments import report_errors

NOT_READ = "compiler_variables"  # the compilers' own, under their own names


@click.command(epilog="Example: fieldforge config | grep cache")
@report_errors
def config() -> None:
    """Print every setting, its value, and whether the environment or the default gave it."""
    found = list(rows(current(), environment_with()))
    width = max(len(variable) for variable, _, _ in found)
    widest = max(len(value) for _, value, _ in found)
    for variable, value, origin in found:
        click.echo(f"{variable:<{width}}  {value:<{widest}}  {origin}")


def rows(settings: Settings, environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield variable, value and origin of every setting.

    >>> list(rows(Settings(jobs=3), {"FIELDFORGE_JOBS": "3"}))[5]
    ('FIELDFORGE_JOBS', '3', 'environment')
    """
    for field in attrs.fields(Settings):
        if field.name != NOT_READ:
            variable = PREFIX + field.name.upper()
            origin = "environment" if environ.get(variable, "").strip() else "default"
            yield variable, _shown(getattr(settings, field.name)), origin


def _shown(value: Any) -> str:
    """Write a value as the variable takes it; '-' for none."""
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        paths = all(isinstance(each, Path) for each in value)
        return (pathsep if paths else ",").join(map(str, value))
    return str(value)
