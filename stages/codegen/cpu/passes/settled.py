"""Rows of a loop where conditions are known: nothing is selected, and no index is clamped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .....runtime.process import classes
from ....ir.loops import (
    Access,
    Advance,
    Compute,
    Instruction,
    Load,
    Number,
    Row,
    Store,
    reached,
    with_operands,
)

Rows: TypeAlias = Sequence[Instruction]


def settled(rows: Rows, known: Mapping[Row, bool]) -> tuple[Rows, frozenset[Row]]:
    """Return rows where some conditions are known, and which of them stores still need."""
    made, _ = _chosen(rows, known)
    used = _used(made)
    if not any(_compares(made, row) for row in used):  # all that is read is there
        made = [_unclamped(made, row) for row in made]
        used = _used(made)
    return made, used


def follow_from(rows: Rows, known: Mapping[Row, bool]) -> Mapping[Row, bool]:
    """Return the conditions that are known if some are."""
    return _chosen(rows, known)[1]


def _chosen(rows: Rows, given: Mapping[Row, bool]) -> tuple[list[Instruction], dict[Row, bool]]:
    known, same, made = dict(given), dict[Row, Row](), list[Instruction]()
    for number, old in enumerate(rows):
        row = with_operands(old, lambda each: same.get(each, each))
        match row:
            case Compute(op="and" | "or" as op, args=args, dtype="bool"):
                left = [each for each in args if each not in known]
                if any(known.get(each) == (op == "or") for each in args):
                    known[number] = op == "or"
                elif not left:
                    known[number] = op == "and"
                elif len(left) < len(args):
                    same[number] = left[0]
            case Compute(op="select", args=(test, then, otherwise)) if test in known:
                same[number] = then if known[test] else otherwise
            case Access(when=int(when)) if known.get(when):
                row = classes.evolve(row, when=None)
        made.append(row)
    return made, known


def _unclamped(rows: Rows, row: Instruction) -> Instruction:
    """Return a load with the indices that are there; arrays may lack levels that a scan reads."""
    if not isinstance(row, Load) or row.when is not None:
        return row
    places = ((each, None if each is None else unclamped(rows, each)) for each in row.rows)
    is_array = row.buffer.startswith("@")
    own = (
        old if new is None or (is_array and not _is_entry(rows[new])) else new
        for old, new in places
    )
    return classes.evolve(row, rows=tuple(own))


def _is_entry(row: Instruction) -> bool:
    """Tell whether an index is what a table tells, as 64 bits."""
    return isinstance(row, Compute) and row.op == "cast"


def unclamped(rows: Rows, number: Row) -> Row:
    """Return the index that bounds clamp."""
    match rows[number]:
        case Compute(op="minimum" | "maximum", args=(index, end)) if isinstance(rows[end], Number):
            return unclamped(rows, index)
    return number


def _used(rows: Rows) -> frozenset[Row]:
    ends = (number for number, row in enumerate(rows) if isinstance(row, Store | Advance))
    return frozenset(reached(ends, lambda number: rows[number].operands))


def _compares(rows: Rows, number: Row) -> bool:
    """Tell whether a row compares an index with a bound of the call."""
    row = rows[number]
    is_test = isinstance(row, Compute) and row.op in ("ge", "lt")
    return is_test and isinstance(rows[row.operands[1]], Number)
