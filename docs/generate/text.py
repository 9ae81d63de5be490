"""Markdown from docstrings: tables, sections of attributes, fenced examples."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence

_ITEM = re.compile(r"^(\w+): (.*)$")


class MissingDocstringError(Exception):
    """A public name has no docstring."""


def summary(thing: object, name: str) -> str:
    """Return the first line of a docstring; a missing one is an error."""
    return documentation(thing, name).partition("\n")[0]


def documentation(thing: object, name: str) -> str:
    """Return a docstring without indentation; a missing one is an error."""
    text = inspect.getdoc(thing)
    if not text:
        raise MissingDocstringError(f"Public name '{name}' has no docstring.")
    return text


def attributes(kind: type) -> dict[str, str]:
    """Return the sections 'Attributes' of a class and its bases by name.

    >>> class Stage:
    ...     '''A stage.
    ...
    ...     Attributes:
    ...         fold: whether constants
    ...             are folded.
    ...
    ...     '''
    >>> attributes(Stage)
    {'fold': 'whether constants are folded.'}
    """
    documents = (inspect.cleandoc(each.__doc__ or "") for each in reversed(kind.__mro__))
    sections = [text.partition("Attributes:\n")[2] for text in documents]
    found: dict[str, str] = {}
    for line in "\n".join(sections).splitlines():
        item = _ITEM.match(line[4:]) if line.startswith("    ") else None
        if item:
            found[item[1]] = item[2]
        elif line.strip() and found:
            found[next(reversed(found))] += f" {line.strip()}"
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table; bars in cells are escaped.

    >>> print(table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\|y |
    """
    body = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *body])


def fenced(doc: str) -> str:
    """Put the interactive examples of a docstring into fences.

    >>> print(fenced("Add.").strip())
    Add.
    """
    out: list[str] = []
    inside = False
    for line in doc.splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not inside:
            out += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            out.append("```")
            inside = False
        out.append(line.strip() if inside and begins else line)
    return "\n".join([*out, *(["```"] if inside else [])])


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."
