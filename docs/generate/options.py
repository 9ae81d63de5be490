"""The page of options: every option of every backend, from the stages of its workflow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fieldforge.workflows.backends.backend import ROWS
from fieldforge.workflows.graph.options import options_of
from fieldforge.workflows.graph.text import show_value

from .text import MissingDocstringError, attributes, sentence, summary, table

INTRO = """# Backends and their options

An option is a field of a stage. `ff.cpu.with_options(fold=False)` returns a backend with another value; the keys of
its builds contain the value. An unknown option is an [`OptionError`](errors.md#OptionError).
"""
OF_THE_MACHINE = ("target", "cxx", "directory", "variables", "pins")  # no default to print


def page() -> str:
    """Return the page."""
    parts = [INTRO, "## Backends\n"]
    heads = ("name", "aliases", "meaning", "stages")
    parts.append(table(heads, [(
        f"[`{row.name}`](#{row.name})",
        ", ".join(f"`{alias}`" for alias in row.aliases),
        summary(row.pipeline, row.name),
        " → ".join(row.pipeline().names),
    ) for row in ROWS]))  # fmt: skip
    for row in ROWS:
        rows = [each for _, stage in row.pipeline().nodes for each in _rows(stage)]
        parts += [f"\n## {row.name}\n", table(("option", "stage", "default", "meaning"), rows)]
    return "\n".join([*parts, ""])


def _rows(stage: object) -> list[tuple[str, ...]]:
    meaning = attributes(type(stage))
    name = getattr(stage, "name")  # noqa: B009 - a class variable of every stage
    return [
        (f"`{option}`", name, _default(stage, option), sentence(meaning[option]))
        for option in _documented(name, options_of(stage), meaning)
    ]


def _default(stage: object, option: str) -> str:
    if option in OF_THE_MACHINE:
        return "this machine" if option == "target" else "the settings"
    value = getattr(stage, option)
    values = value if isinstance(value, tuple) and value else (value,)
    return ", ".join(f"`{show_value(each)}`" for each in values)


def _documented(stage: str, options: Iterable[str], meaning: Mapping[str, str]) -> list[str]:
    """Return the options of a stage that users set; one without a meaning is an error."""
    if stage == "refuse":  # it stands for a code generator that does not exist yet
        return []
    known = list(options)
    for option in known:
        if option not in meaning:
            raise MissingDocstringError(
                f"The docstring of stage '{stage}' does not explain its option '{option}'."
            )
    return known
