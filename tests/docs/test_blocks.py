"""Every code block of the pages runs, or names commands, options and targets that exist."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from fieldforge.workflows.commands.cli import main

from ..processes import python

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(fieldforge [a-z][^`\n]*)`|^ {4}(fieldforge [a-z][^\n]*)", re.MULTILINE)
LINE = re.compile(r"^(?:\$ )?(fieldforge [a-z].*)", re.MULTILINE)
TARGET = re.compile(r"(?:^|`| {4})make ([a-z][a-z-]*)", re.MULTILINE)
NOT_RUN = {
    "precompiling.md": "from mpi4py import MPI",  # needs a launcher: see tests/mpi
    "clusters.md": "from dask.distributed import Client\nfrom dask_jobqueue",  # needs Slurm
}
SCRIPT = re.compile(r"# (\w+\.py)\n")  # runs below
ids = [page.name for page in PAGES]


def blocks(page: Path, language: str) -> list[str]:
    return [code for _, own, code in BLOCK.findall(page.read_text()) if own == language]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_python_runs_as_a_doctest(page):
    silent = [
        code for code in blocks(page, "python") if ">>>" not in code and not SCRIPT.match(code)
    ]
    allowed = [code for code in silent if code.startswith(NOT_RUN.get(page.name, "\0"))]
    assert silent == allowed, "write it with '>>>', so that it runs"
    for code in allowed:
        ast.parse(code)


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_scripts_print_what_they_say(page, tmp_path):
    for code in filter(SCRIPT.match, blocks(page, "python")):
        file = tmp_path / SCRIPT.match(code)[1]
        file.write_text(code)
        done = python(file)
        said = [line.partition("  # ")[2] for line in code.splitlines() if line.startswith("print")]
        assert (done.stdout.splitlines(), done.stderr) == (said, "")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_no_example_is_skipped(page):
    assert "+SKIP" not in page.read_text()


def commands(page: Path) -> list[str]:
    inline = [one or other for one, other in INLINE.findall(page.read_text())]
    shown = [
        line for each in ("", "sh") for code in blocks(page, each) for line in LINE.findall(code)
    ]
    return [*inline, *shown]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_and_their_options_exist(page):
    for line in commands(page):
        check(shlex.split(line.partition(" #")[0]))


def check(words: list[str]) -> None:
    command: click.Command = main
    context = click.Context(main, info_name=words[0])
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            pytest.fail(f"there is no command {' '.join(words)}")
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    if command.context_settings.get(
        "ignore_unknown_options"
    ):  # the rest belongs to the script that it runs
        return
    known = {
        name for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)
    }
    for word in rest:
        if word.startswith("-") and word not in {"-"}:
            assert word.partition("=")[0] in known, f"{words[:3]} has no option {word}"


def test_targets_of_make_exist():
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(TARGET.findall(page.read_text()))
        assert named <= made, f"{page.name} names {named - made}"
