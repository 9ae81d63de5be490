"""Put the text of a row into the one row that uses it, such as `v3 = (v1 + r0[i1]) * v2`.

A row keeps a line of its own where its text would stand twice, would only run under a condition,
would come after a store, or would make the line long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final

from ...ir.loops import Advance, Compute, Instruction, Load, Row, State, Store
from .expressions import is_float
from .spellings import LIBRARY, SYMBOLS

LONGEST: Final = 90  # characters of a text inside another one
EXTREMA: Final = ("minimum", "maximum")
# Operations whose text has each operand once and always evaluates it.
ONCE: Final = frozenset(
    {*SYMBOLS, *LIBRARY, "neg", "not", "div", "floordiv", "mod", "fmod", "fma", "cast"}
)


def single_uses(
    rows: Sequence[Instruction],
    chosen: Sequence[Row],
    states: Iterable[Row],
    trees: Mapping[Row, Sequence[Row]],
    tested: Container[str],
) -> set[Row]:
    """Return which of the `chosen` rows may stand in the one row among them that uses them.

    `trees` has the leaves of each tree of extrema, which its root reads again; stores to buffers
    that are `tested` read their value again.
    """
    users = Counter(arg for row in rows for arg in row.operands)
    users.update((*states, *(leaf for leaves in trees.values() for leaf in leaves)))
    found: set[Row] = set()
    since: set[Row] = set()  # rows that no store has followed yet
    for number in chosen:
        row = rows[number]
        if _reads_once(row, tested) and not trees.get(number):
            found |= {arg for arg in row.operands if arg in since and users[arg] == 1}
        if isinstance(row, Store | Advance):
            since.clear()
        elif isinstance(row, Compute | Load | State):
            since.add(number)
    return found


def _reads_once(row: Instruction, tested: Container[str]) -> bool:
    match row:
        case Compute(op=op, dtype=dtype):
            return op in ONCE or (op in EXTREMA and (is_float(dtype) or dtype == "int64"))
        case Store(buffer=buffer, add=add, when=when):
            return when is None and not add and buffer not in tested
        case Load(when=when):
            return when is None
    return isinstance(row, Advance)


def bracketed(text: str) -> str:
    """Return a text as an operand, in brackets unless it is a name, a call or an element.

    >>> bracketed("r0[(i1 + 1)]"), bracketed("sqrt(v1) * 2"), bracketed("f(a) + f(b)")
    ('r0[(i1 + 1)]', '(sqrt(v1) * 2)', '(f(a) + f(b))')
    """
    depth, ended = 0, False
    for place, each in enumerate(text):
        if ended or not (depth or each in "([" or each.isalnum() or each == "_"):
            return f"({text})"
        depth += (each in "([") - (each in ")]")
        ended = depth == 0 and each in ")]" and place > 0
    return text
