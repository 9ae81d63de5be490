"""The page that lists decision records with their status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .text import table

FOLDER = Path(__file__).parents[1] / "decisions"
_STATUS = re.compile(r"Status: (accepted|superseded by .*)\.$", re.MULTILINE)
_RELATION = re.compile(r"^\* (Refined by|Refines|Supersedes) (\[.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\[(\d{4})\]\(")

# What the other record says.
BACK = {
    "Refined by": "Refines",
    "Refines": "Refined by",
    "Supersedes": "superseded by",
    "superseded by": "Supersedes",
}


def records() -> dict[str, Path]:
    """Return the records by number."""
    return {path.name[:4]: path for path in sorted(FOLDER.glob("[0-9]*.md"))}


def status(record: str) -> str:
    """Return the status that a record states: 'accepted' or 'superseded by [0018](...)'."""
    found = _STATUS.search(record)
    if found is None:
        raise ValueError(f"No line 'Status: accepted.' in the record:\n{record[:200]}")
    return found[1]


def relations(record: str) -> Iterator[tuple[str, str]]:
    r"""Yield how a record stands to others: ('Refined by', '0014').

    >>> list(relations("Status: accepted.\n\n* Refines [0005](0005-a.md), [0031](0031-b.md)."))
    [('Refines', '0005'), ('Refines', '0031')]
    """
    verb, _, others = status(record).partition(" by ")
    for number in _NUMBER.findall(others):
        yield f"{verb} by", number
    for verb, others in _RELATION.findall(record):
        for number in _NUMBER.findall(others):
            yield verb, number


def page() -> str:
    """Return a table of all records: number, title, status, what refines them."""
    rows = []
    for number, path in records().items():
        record = path.read_text()
        title = record.partition("\n")[0].removeprefix(f"# {number} ")
        later = [other for verb, other in relations(record) if verb == "Refined by"]
        links = ", ".join(f"[{other}]({records()[other].name})" for other in later)
        rows.append((f"[{number}]({path.name})", title, status(record), links))
    head = "# Decisions\n\nWhy things are as they are, half a page each.\n\n"
    return head + table(("record", "decision", "status", "refined by"), rows) + "\n"
