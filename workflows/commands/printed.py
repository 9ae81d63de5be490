"""Tables that commands print: as wide as the terminal, one line a row in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

WIDE: Final = 4096  # characters; the longest path that systems take


def print_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, **given: Any
) -> None:
    """Print a table; keywords such as `box=None` are those of `rich.table.Table`."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*head, title=title, **given)
    for row in rows:
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
