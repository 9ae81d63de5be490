"""Tables of `untuned.json`: programs that no rule was made for, beside plain kernels by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from untuned_table import HEAD, cells

from .text import filled, when


def section(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page of a machine says of untuned programs."""
    rows = document["rows"]
    yield "## Untuned programs\n"
    yield (
        f"{when(rows)} Programs of `bench/untuned_programs/` beside plain kernels by hand, one for "
        "an output location. Ratios are of least times / of medians. *split* is the limiter as two "
        "programs, *before* an earlier version.\n"
    )
    yield from filled(HEAD, list(cells(rows)))
