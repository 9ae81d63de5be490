"""The command `run`: start a script, on request one that was written for gt4py."""

from __future__ import annotations

import os
import runpy
import sys

import click

from .migration.gt4py_imports import install


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: fieldforge run --as-gt4py model.py --steps 10",
)
@click.option("--as-gt4py", is_flag=True, help="Let 'import gt4py.next' mean fieldforge.")
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(as_gt4py: bool, is_module: bool, script: str, arguments: tuple[str, ...]) -> None:
    """Run a Python script with its arguments, as 'python SCRIPT' does.

    With --as-gt4py a program that was written for gt4py runs unchanged, also in processes that
    'multiprocessing' starts. Other processes have to 'import fieldforge.as_gt4py' themselves.
    """
    if as_gt4py:
        install()
    if is_module:
        sys.argv = [script, *arguments]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(script, run_name="__main__", alter_sys=True)
        return
    if not os.path.exists(script):
        raise click.BadParameter(f"There is no file '{script}'.", param_hint="SCRIPT")
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
    runpy.run_path(script, run_name="__main__")
