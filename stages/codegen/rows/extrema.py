"""Trees of extrema: the largest or smallest of several values, with one test for NaN.

An extremum alone takes one instruction for the value and two for NaN. In a tree of them only the
root needs the latter: it is NaN if one of its leaves is. Trees of the smallest and of the largest
of the same values share that test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeGuard

from ...ir.loops import Compute, Constant, Instruction, Row, reached
from .expressions import TYPES, Expression, builtin, is_float
from .spellings import WHOLE

_SIGNS: Final = {"minimum": "<", "maximum": ">"}
_NAMES: Final = {"minimum": "lower", "maximum": "upper"}


def trees(
    rows: Sequence[Instruction], depth: int, states: Sequence[tuple[str, Row]], fewest: int
) -> dict[Row, tuple[Row, ...]]:
    """Return the leaves of each row of a tree of extrema inside `depth` loops; inner rows: none.

    A tree has `fewest` leaves or more.
    """
    users = Counter(arg for row in rows for arg in row.operands)
    users.update(row for _, row in states)
    inner = {
        arg
        for row in rows
        if _is_extremum(row) and row.level == depth
        for arg in row.operands
        if users[arg] == 1 and _is_alike(rows[arg], row)
    }
    found: dict[Row, tuple[Row, ...]] = {}
    for number, row in enumerate(rows):
        if _is_extremum(row) and number not in inner:
            members, leaves = _walk(rows, number, inner)
            if len(leaves) >= fewest:
                found |= dict.fromkeys(members, ()) | {number: tuple(sorted(leaves))}
    return found


def _is_extremum(row: Instruction) -> TypeGuard[Compute]:
    return isinstance(row, Compute) and row.op in _SIGNS and is_float(row.dtype)


def _is_alike(row: Instruction, user: Compute) -> bool:
    return isinstance(row, Compute) and (
        (row.op, row.dtype, row.level, row.part) == (user.op, user.dtype, user.level, user.part)
    )


def _walk(rows: Sequence[Instruction], root: Row, inner: set[Row]) -> tuple[set[Row], set[Row]]:
    """Return the rows of a tree, and its leaves that may be NaN."""
    own = {root, *inner}
    found = reached([root], lambda row: rows[row].operands if row in own else ())
    numbers = {
        row for row in found if isinstance(each := rows[row], Constant) and each.text != "nan"
    }
    return found & own, found - own - numbers


def spelled(row: Compute, leaves: Sequence[Row], name: Callable[[Row], str]) -> Expression:
    """Return a row of a tree, and the functions that it calls."""
    real = TYPES[row.dtype][0]
    called = f"{_NAMES[row.op]}_{real}"
    value = (
        f"static inline {real} {called}({real} a, {real} b) {{\n"
        f"  return WHOLE(a {_SIGNS[row.op]} b ? a : b);\n"
        "}"
    )
    functions = {"WHOLE": WHOLE, called: value}
    text = f"{called}({name(row.args[0])}, {name(row.args[1])})"
    if leaves:
        pairs = [leaves[at : at + 2] for at in range(0, len(leaves), 2)]
        tests = (f"__builtin_isunordered({name(p[0])}, {name(p[-1])})" for p in pairs)
        chosen = f"number_{real}"
        nan = f'{builtin("nan", row.dtype)}("")'
        functions[chosen] = (
            f"static inline {real} {chosen}(bool is_nan, {real} a) {{\n"
            f"  return WHOLE(is_nan ? {nan} : a);\n"
            "}"
        )
        text = f"{chosen}({' | '.join(tests)}, {text})"
    return Expression(text, tuple(functions.items()))
