"""The page on clusters names commands, options and settings that exist."""

import re
from pathlib import Path

import attrs
import click
import pytest

from fieldforge.examples.shallow_water.__main__ import main as shallow_water
from fieldforge.runtime.process.settings import Settings
from fieldforge.workflows.commands.cli import main

TEXT = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text()
SPANS = re.findall(r"`(fieldforge [^`\n]*)`", TEXT)
LINES = re.findall(r"^    .*?(fieldforge [^#\n]+)", TEXT, re.MULTILINE)
COMMANDS = sorted({" ".join(each.split()) for each in SPANS + LINES})


def options_of(command):
    return {name for each in command.params for name in each.opts} | {"--help"}


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_exist(text):
    words, command = text.split()[1:], main
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
        assert command is not None, f"'{text}' names no command."

    assert {word for word in words if word.startswith("-")} <= options_of(command)


def test_the_options_of_the_model_exist():
    lines = re.findall(r"shallow_water (--.*)", TEXT)

    assert len(lines) > 1
    for line in lines:
        assert set(re.findall(r"--[a-z]+", line)) <= options_of(shallow_water)
    assert set(re.findall(r"`(--(?:save|resume))", TEXT)) <= options_of(shallow_water)


def test_settings_exist():
    known = {f"FIELDFORGE_{each.name.upper()}" for each in attrs.fields(Settings)}

    assert set(re.findall(r"FIELDFORGE_[A-Z_]+", TEXT)) <= known


def test_there_is_something_to_test():
    assert len(COMMANDS) > 8
