"""Put acts under one condition together, and loops under conditions that they do not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...ir.loops import Act, Compute, Get, If, Instruction, Load, Row, Set, Store, While
from .act_trees import Numbered, below, rows_of, with_sides


def gathered(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return numbered acts where conditions that follow one another are one.

    A loop that only runs where a row is true, which it does not change, stands under that row.
    """
    found = tuple(acts)
    return _gathered(found, _named(found))


def _named(acts: Iterable[Act]) -> dict[Row, Instruction]:
    """Return all rows by their numbers."""
    return {act.number: act.row for act in below(acts) if isinstance(act, Numbered)}


def _gathered(acts: Iterable[Act], rows: Mapping[Row, Instruction]) -> tuple[Act, ...]:
    made: list[Act] = []
    for own in acts:
        act = with_sides(own, lambda side: _gathered(side, rows))
        act = _under_condition(act, rows) if isinstance(act, While) else act
        before = _same(made, act, rows) if isinstance(act, If) else None
        if before is not None and isinstance(act, If):
            made = [each for each in made if each is not before]
            act = _joined(before, act, rows)
        made.append(act)
    return tuple(made)


def _under_condition(loop: While, rows: Mapping[Row, Instruction]) -> Act:
    """Return a loop under those parts of its condition that it does not change."""
    own = _named(loop.condition)
    if any(isinstance(row, Set | Store) for row in rows_of(loop.condition)):
        return loop
    fixed = [row for row in _parts(loop.row, rows) if row not in own]
    made: Act = loop
    for row in fixed:
        made = If(row, (made,))
    return made


def _parts(row: Row, rows: Mapping[Row, Instruction]) -> list[Row]:
    """Return the rows that must all be true for a row to be true."""
    made = rows[row]
    if isinstance(made, Compute) and made.op == "and":
        return [part for each in made.args for part in _parts(each, rows)]
    return [row]


def _same(made: Sequence[Act], choice: If, rows: Mapping[Row, Instruction]) -> If | None:
    """Return a condition on the same row before, with only rows of values between."""
    for act in reversed(made):
        if isinstance(act, If):
            return act if _base(act.row, rows)[0] == _base(choice.row, rows)[0] else None
        if not isinstance(act, Numbered) or isinstance(act.row, Get | Set | Load | Store):
            return None
    return None


def _base(row: Row, rows: Mapping[Row, Instruction]) -> tuple[Row, bool]:
    """Return the row that a row is, or is the opposite of."""
    made = rows[row]
    if isinstance(made, Compute) and made.op == "not":
        base, truth = _base(made.args[0], rows)
        return base, not truth
    return row, True


def _joined(one: If, other: If, rows: Mapping[Row, Instruction]) -> If:
    """Return two conditions on one row as one."""
    same = _base(one.row, rows)[1] == _base(other.row, rows)[1]
    then, otherwise = (other.then, other.otherwise) if same else (other.otherwise, other.then)
    return If(
        one.row, _gathered((*one.then, *then), rows), _gathered((*one.otherwise, *otherwise), rows)
    )
