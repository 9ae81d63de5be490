"""Two listings as HTML: the lines that changed, with some around them."""

from __future__ import annotations

import difflib
from html import escape
from typing import Final

MOST_LINES: Final = 400
LONGEST: Final = 20_000  # lines of a listing that are compared
_CLASSES: Final = {"+": "new", "-": "old", "@": "at"}


def difference(before: str, after: str) -> str:
    r"""Return the changed lines as HTML, empty if there are none.

    >>> print(difference("a\nb", "a\nc"))
    <span class="at">@@ -1,2 +1,2 @@</span>
     a
    <span class="old">-b</span>
    <span class="new">+c</span>
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > LONGEST:
        return "" if old == new else "Too long to be compared here."
    rows = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    left = len(rows) - MOST_LINES
    shown = [_row(row) for row in rows[:MOST_LINES]]
    return "\n".join([*shown, *([f"... {left} more lines"] if left > 0 else [])])


def counts(before: str, after: str) -> tuple[int, int]:
    r"""Return how many lines came and went.

    >>> counts("a\nb", "a\nc\nd")
    (2, 1)
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > LONGEST:
        return max(len(new) - len(old), 0), max(len(old) - len(new), 0)
    rows = list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]
    return sum(row.startswith("+") for row in rows), sum(row.startswith("-") for row in rows)


def _row(row: str) -> str:
    kind = _CLASSES.get(row[:1])
    return f'<span class="{kind}">{escape(row)}</span>' if kind else escape(row)
