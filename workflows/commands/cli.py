"""The command `fieldforge`: a group that imports the module of a command when it runs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from typing import Final

import click

PACKAGE: Final = __name__.partition(".")[0]
DEMO: Final = f"{PACKAGE}.examples.demo.command"  # no import statement may name examples
# Where each command is, and its line in the list: reading that from the commands would import all.
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "audit": (
        ".builds",
        "Lower programs in several processes that have different hash seeds, imports and paths.",
    ),
    "bisect": (
        ".capsules",
        "Find the statement, option or pass where two executions of a capsule part.",
    ),
    "build": (".builds", "Build the programs of lock files, or programs by name, into the store."),
    "cache": (".cache", "Inspect, verify, prune and pack the store of stage results."),
    "check": (
        ".builds",
        "List the builds that are missing from the store, and why; exit with 1 if any is.",
    ),
    "config": (
        ".config",
        "Print every setting, its value, and whether the environment or the default gave it.",
    ),
    "demo": (DEMO, "Smooth real terrain until its steepest slope is safe for a weather model."),
    "diff": (
        ".builds",
        "Compare two lock files, or a lock file with the programs as they are now.",
    ),
    "doctor": (
        ".doctor",
        "Check compiler, processor, threads, cache, GPU, MPI and DaCe, one line each.",
    ),
    "explain": (
        ".look",
        "Explain what changed since the nearest build in the store, then build stage by stage.",
    ),
    "export": (
        ".export",
        "Write programs, or set-ups, as a library with a C header and a Fortran module.",
    ),
    "graph": (".look", "Draw the stages of a program's workflow, and the artifacts between them."),
    "migrate": (
        ".migrate",
        "Rewrite imports of gt4py to fieldforge in Python files, and in all files below folders.",
    ),
    "options": (
        ".options",
        "Show which options programs are built with, and check the files that set them.",
    ),
    "replay": (
        ".capsules",
        "Build the program of a capsule here, run it, and compare with the record.",
    ),
    "report": (
        ".report",
        "Write a page about builds: outputs, passes, decisions, keys, and why each stage ran.",
    ),
    "run": (".run", "Run a Python script with its arguments, as 'python SCRIPT' does."),
    "show": (".look", "Print the output of a stage for a program, from the store if it is there."),
    "stages": (".look", "List the stages, their ports and their options."),
    "tune": (".tune", "Find the fastest options of a program on this machine, and keep them."),
}


class Commands(click.Group):
    """The group of all commands; imports the module of a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, with 'demo' if the examples are installed."""
        return [name for name in COMMANDS if name != "demo" or _has_demo()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None for a name that no command has."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0], __package__)
        return getattr(module, cmd_name)  # type: ignore[no-any-return]  # by contract

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; imports none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


def _has_demo() -> bool:
    try:
        return importlib.util.find_spec(DEMO) is not None
    except ModuleNotFoundError:  # a wheel without the examples
        return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sys.modules[PACKAGE].__version__, prog_name=PACKAGE)
def main() -> None:
    """Stencil programs in Python, compiled to the speed of memory.

    Name a program as MODULE:PROGRAM, where MODULE is an importable name or the path of a file:
    `model.diffusion:smooth` or `examples/terrain.py:smooth`. Commands import it, so keep a
    time loop under `if __name__ == "__main__":`.
    """
