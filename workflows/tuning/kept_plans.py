"""Keep plans that were timed, for a fit of the costs behind predictions (`doctor --model`)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from ...runtime.process import classes
from .ranking import Ranking
from .refit import plain


def keep_plans(path: Path, program: str, ranking: Ranking) -> None:
    """Append a line for each choice that was timed: its loops, its sizes, both seconds."""
    lines = list(_lines(program, ranking))
    if lines:
        with gzip.open(path, "at") as file:
            file.writelines(lines)


def _lines(program: str, ranking: Ranking) -> Iterator[str]:
    for choice, seconds in ranking.bench.least.items():
        loops = ranking.bench.loops(choice)
        own = dict(choice).get("codegen.stream_from")
        sizes = classes.evolve(ranking.sizes, stream_from=own)
        row = {
            "program": program, "loops": loops, "sizes": plain(sizes), "seconds": seconds,
            "predicted": ranking.seconds(choice),
        }  # fmt: skip
        yield json.dumps(row) + "\n"
