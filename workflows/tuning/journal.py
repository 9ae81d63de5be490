"""Journal: every trial of a tuning, one JSON line each, so that the next run need not repeat it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...runtime.process import classes
from ...runtime.process.shapes import (
    ShapeError,
    anything,
    mapping,
    number,
    parse_json,
    positive,
    table,
    text,
)
from .search import Trial
from .verdict import Verdict

LONGEST: Final = 1 << 20  # bytes of a line that is read
_ROW: Final = table(
    context=text, code=text, before=mapping(anything), choice=mapping(anything),
    ratio=positive, spread=number,
)  # fmt: skip


@classes.frozen
class Journal:
    """The file of one model's trials; `context` is all that makes trials comparable.

    Trials of other contexts (another program, machine, shape of the fields) are left alone.
    """

    path: Path | None
    context: str

    def add(self, trial: Trial) -> None:
        """Append a trial that was measured now."""
        if self.path is None or trial.verdict is None or trial.said:
            return
        row = {
            "context": self.context,
            "code": trial.code,
            "before": dict(trial.before),
            "choice": dict(trial.choice),
            "ratio": trial.verdict.ratio,
            "spread": trial.verdict.spread,
        }
        with self.path.open("a") as lines:
            lines.write(json.dumps(row) + "\n")

    def known(self) -> Mapping[str, Verdict]:
        """Return the verdicts of earlier runs in this context, by the generated code.

        Those that noise left open are measured again.
        """
        found = {
            row["code"]: Verdict(row["ratio"], row["spread"])
            for row in self._rows()
            if row["context"] == self.context
        }
        return {code: verdict for code, verdict in found.items() if verdict.is_sure}

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the lines that are whole; a run that was killed may have left half a line."""
        if self.path is None or not self.path.is_file():
            return
        with self.path.open("rb") as lines:
            while line := lines.readline(LONGEST):
                with suppress(ShapeError):
                    yield parse_json(line, _ROW)
