"""The page of commands, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator

import click

from fieldforge.workflows.commands.cli import main

from .text import sentence, table

INTRO = """# Commands

`fieldforge COMMAND --help` prints the same. Name a program as `MODULE:PROGRAM`, where `MODULE` is an importable name or
the path of a file: `model.diffusion:smooth` or `examples/terrain.py:smooth`. Commands import it, so keep a time loop
under `if __name__ == "__main__":`.
"""


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that are no groups, with their full names."""
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from walk(found, f"{name} {each}")
    else:
        yield name, command


def page() -> str:
    """Return the page."""
    found = list(walk(main, "fieldforge"))
    rows = [(f"[`{name}`](#{_anchor(name)})", _summary(each)) for name, each in found]
    parts = [INTRO, table(("command", "meaning"), rows), ""]
    for name, command in found:
        parts += [f"## {name} {{ #{_anchor(name)} }}\n", _section(name, command), ""]
    return "\n".join(parts)


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ")
    rows = [
        (f"`{names}`", sentence(help_))
        for names, help_ in filter(
            None, (each.get_help_record(context) for each in command.get_params(context))
        )
    ]
    example = (command.epilog or "").removeprefix("Example: ")
    parts = [
        (command.help or "").replace("\b\n", ""),
        f"\n```text\n{' '.join(usage.split())}\n```\n",
    ]
    parts += [table(("option", "meaning"), rows), ""] if rows else []
    parts += [f"Example:\n\n```sh\n{example}\n```\n"] if example else []
    return "\n".join(parts)


def _summary(command: click.Command) -> str:
    text = (command.help or "").strip().partition("\n\n")[0]
    if not text:
        raise ValueError(f"Command '{command.name}' has no help.")
    return " ".join(text.split())


def _anchor(name: str) -> str:
    return name.replace(" ", "-")
