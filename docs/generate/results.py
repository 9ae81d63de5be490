"""A page for each machine that was measured, from the files of bench/results/."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def pages() -> dict[str, str]:
    """Return the text of each page by its path."""
    if str(BENCH) not in sys.path:
        sys.path.append(str(BENCH))
    import machine_tables

    return dict(machine_tables.pages())
