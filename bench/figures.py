"""Compute ratios and shares of the rows, for the page and the plot.

Times are the least of all values: on a machine that others use too it is the least that says what
the code takes, for all variants alike. The medians stand beside them in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
OURS, NUMPY, GTFN, DACE = "fieldforge", "NumPy", "gt4py C++", "gt4py DaCe"
BY_HAND = "by hand: "
KEPT = "gt4py DaCe, memory kept: "  # DaCe at its best, in the layout that follows
RIVALS = {GTFN: "gt4py C++", DACE: "gt4py DaCe", "best": "DaCe at its best", NUMPY: "NumPy"}


def taken(row: Row, variant: str, kind: str = "least") -> float | None:
    """Return the seconds of one call, None where the variant was refused."""
    found = row["times"].get(variant)
    return None if found is None else float(found[kind])


def best_by_hand(row: Row, kind: str = "least") -> tuple[str, float] | None:
    """Return the fastest hand-written variant and its seconds."""
    return _fastest(row, BY_HAND, kind)


def rival(row: Row, name: str, kind: str = "least") -> float | None:
    """Return the seconds of NumPy or of the peer; 'best' is DaCe at its best."""
    if name != "best":
        return taken(row, name, kind)
    found = _fastest(row, KEPT, kind)
    return None if found is None else found[1]


def over_ours(row: Row, seconds: float | None, kind: str = "least") -> float | None:
    """Return how many times our time that is: above 1 where ours is faster."""
    ours = taken(row, OURS, kind)
    return None if seconds is None or ours is None else seconds / ours


def share_of_roof(row: Row, roofs: dict[str, Any], seconds: float | None) -> float | None:
    """Return the time that bandwidth or arithmetic allows, the longer, over the time taken."""
    if seconds is None:
        return None
    roof = roofs[str(row["threads"])]
    by_bytes = row["moved"] / roof["bytes"]
    by_operations = row["operations"] / roof["operations"][row["dtype"]]
    return float(max(by_bytes, by_operations) / seconds)


def geometric_mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of ratios; missing ones do not count."""
    known = [math.log(number) for number in numbers if number is not None]
    return math.exp(sum(known) / len(known)) if known else None


def label(row: Row) -> str:
    """Name the program, with its size."""
    return f"{row['program']} {row['size']}"


def _fastest(row: Row, prefix: str, kind: str) -> tuple[str, float] | None:
    found = [
        (name.removeprefix(prefix), float(times[kind]))
        for name, times in row["times"].items()
        if name.startswith(prefix)
    ]
    return min(found, key=lambda pair: pair[1]) if found else None
