"""The file of measured programs: written after every row, so that a run may end at any moment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

KEY = ("program", "size", "dtype", "threads")


class Results:
    """A document with the machine, what else describes the run, and rows with keys of their own.

    Unless `fresh`, rows of an earlier run stay until a new one takes their place. Nothing is
    written before there is a row, so that a run that ends at once leaves the file as it was.
    """

    def __init__(self, path: Path, *, fresh: bool, key: Sequence[str] = KEY) -> None:
        self.path, self.key = path, key
        self.document: dict[str, Any] = {"machine": {}, "roofs": {}, "rows": []}
        if path.exists() and not fresh:
            self.document = json.loads(path.read_text())

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The results of a run."""
        return list(self.document["rows"])

    def describe(self, **what: Any) -> None:
        """Say something of the run as a whole."""
        self.document |= what
        self._write()

    def add(self, row: dict[str, Any]) -> None:
        """Take a row, in the place of the one that it replaces."""
        rows = self.document["rows"]
        key = [row.get(name) for name in self.key]
        same = [at for at, old in enumerate(rows) if [old.get(name) for name in self.key] == key]
        if same:
            rows[same[0]] = row
        else:
            rows.append(row)
        self._write()

    def _write(self) -> None:
        if not self.document["rows"]:
            return
        self.path.write_text(json.dumps(self.document, indent=1) + "\n")
