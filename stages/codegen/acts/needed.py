"""Leave out rows of a column that nobody reads, and changes of registers that nobody reads."""

from __future__ import annotations

from collections.abc import Iterable

from ....runtime.process import classes
from ...ir.loops import Act, Get, If, Row, Set, Store, Sweep, While
from .act_trees import Numbered


def needed(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return acts without rows that nobody reads, and without registers that nobody reads."""
    found = tuple(acts)
    read: set[int] | None = None
    while True:
        wanted: set[Row] = set()
        gets: set[int] = set()
        found = _needed(found, wanted, gets, read)
        if gets == read:
            return found
        read = gets


def _needed(
    acts: Iterable[Act], wanted: set[Row], gets: set[int], read: set[int] | None
) -> tuple[Act, ...]:
    """Return acts, the last first looked at; add to `wanted` the rows that they read."""
    kept: list[Act] = []
    for act in reversed(tuple(acts)):
        match act:
            case If():
                otherwise = _needed(act.otherwise, wanted, gets, read)
                then = _needed(act.then, wanted, gets, read)
                if then or otherwise:
                    wanted.add(act.row)
                    kept.append(If(act.row, then, otherwise))
            case While():
                wanted.add(act.row)
                inner = _needed(act.acts, wanted, gets, read)
                kept.append(While(_needed(act.condition, wanted, gets, read), act.row, inner))
            case Sweep():
                inner = _needed(act.acts, wanted, gets, read)
                if inner:
                    kept.append(classes.evolve(act, acts=inner))
            case Numbered(number=number, row=row):
                is_read = isinstance(row, Set) and (read is None or row.register in read)
                if is_read or isinstance(row, Store) or number in wanted:
                    wanted.update(row.operands)
                    gets.update([row.register] if isinstance(row, Get) else ())
                    kept.append(act)
    return tuple(reversed(kept))
