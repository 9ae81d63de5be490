"""Sources in several translation units: one text, whose first line tells how many.

Codegen writes such a text and the stage `compile` reads the line. The macro `UNIT` selects a unit.
Without it, the text is one translation unit with the same functions. They stand in the namespace
`PARTS`, another macro, so that a library can hold several programs.
"""

from __future__ import annotations

import re
from typing import Final

MACRO: Final = "UNIT"
NAMESPACE: Final = "PARTS"
_FIRST: Final = re.compile(rf"// (\d+) translation units, selected by {MACRO}\n")


def first_line(count: int) -> str:
    """Return the line that begins a text of several units.

    >>> first_line(3)
    '// 3 translation units, selected by UNIT'
    """
    return f"// {count} translation units, selected by {MACRO}"


def count_units(source: str) -> int:
    r"""Return the number of translation units of a text; 1 for a text like any other.

    >>> count_units(first_line(3) + "\nint a;"), count_units("int a;")
    (3, 1)
    """
    found = _FIRST.match(source)
    return int(found[1]) if found else 1
