"""Compute before a condition what both of its sides compute: their loads wait for no comparison.

Threads of a warp that differ would do it one side after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .....runtime.process import classes
from ....ir.loops import (
    Act,
    Column,
    Get,
    If,
    Instruction,
    Load,
    Row,
    Set,
    Store,
    Sweep,
    While,
    with_operands,
)
from ...acts.act_trees import Numbered, numbered, ordered, rows_of, with_sides
from ...acts.tidying import tidied


def with_shared_rows(column: Column) -> Column:
    """Return a column with the rows of both sides of each condition before it.

    The rows of one side move; those of the other one are found to be known when acts are tidied.
    """
    acts = ordered(_before_conditions(numbered(column.acts)))
    return column if acts == column.acts else tidied(classes.evolve(column, acts=acts))


def _before_conditions(acts: Iterable[Act]) -> tuple[Act, ...]:
    made: list[Act] = []
    for each in acts:
        act = each
        if isinstance(act, Sweep | If | While):
            act = with_sides(act, _before_conditions)
        if isinstance(act, If):
            shared = _shared(act)
            left = (own for own in act.then if not any(own is row for row in shared))
            made += shared
            act = classes.evolve(act, then=tuple(left))
        made.append(act)
    return tuple(made)


def _shared(choice: If) -> list[Numbered]:
    """Return the rows of `then` whose values `otherwise` has, too."""
    same: dict[Row, Row] = {}
    known = {act.row: act.number for act in _begun(choice.then)}
    for act in _begun(choice.otherwise):
        row = with_operands(act.row, lambda each: same.get(each, each))
        if row in known:
            same[act.number] = known[row]
    found = set(same.values())
    return [act for act in _begun(choice.then) if act.number in found]


def _begun(acts: Iterable[Act]) -> Iterator[Numbered]:
    """Yield the rows that have their values where acts begin, if the rows before them have."""
    changed: set[str | int] = set()  # buffers and registers
    for act in acts:
        if isinstance(act, Numbered) and _is_fixed(act.row, changed):
            yield act
        for row in rows_of([act]):
            changed |= {row.buffer} if isinstance(row, Store) else set()
            changed |= {row.register} if isinstance(row, Set) else set()


def _is_fixed(row: Instruction, changed: set[str | int]) -> bool:
    match row:
        case Get(register=register):
            return register not in changed
        case Load(buffer=buffer):
            return buffer not in changed
    return not isinstance(row, Set | Store)
