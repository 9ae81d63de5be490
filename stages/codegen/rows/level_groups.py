"""Find the levels of loads at indices of their own, and which of them one test can keep inside.

Levels at known distances from each other share a test, where the first of them is known. A level is
sure where a test before keeps it inside too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ....runtime.process import classes
from ...ir.loops import (
    Act,
    Compute,
    Constant,
    Get,
    If,
    Instruction,
    Number,
    Row,
    Set,
    Sweep,
    While,
)
from ..acts.act_trees import rows_of

Around: TypeAlias = tuple[int, ...]  # the blocks around a row
Base: TypeAlias = tuple[Row, ...]  # the terms of a sum that are not known


@classes.frozen
class Level:
    """A level that is clamped: its row, those of the level before, of the first and last one."""

    row: Row
    inner: Row
    level: Row
    first: Row
    last: Row


@classes.frozen
class Together:
    """Levels that share a test, each with its distance from the first one."""

    levels: tuple[tuple[Level, int], ...]
    is_sure: bool


@classes.define
class Surroundings:
    """What is around the rows of acts.

    Attributes:
        blocks: by row the blocks around it, in which its name is known.
        lasting: by row the blocks in which it is surely computed from there on. The condition of a
            loop is computed before all that follows the loop.
        same: by row that reads a register another row with the value of the register.

    """

    blocks: dict[Row, Around] = classes.field(factory=dict)
    lasting: dict[Row, Around] = classes.field(factory=dict)
    same: dict[Row, Row] = classes.field(factory=dict)


def surroundings(acts: Iterable[Act], first: Row) -> Surroundings:
    """Return what is around the rows of acts, which are numbered from the first one on."""
    made = Surroundings()
    _note(acts, made, iter(range(first, 1 << 62)), (), (), {})
    return made


def _note(
    acts: Iterable[Act],
    made: Surroundings,
    numbers: Iterator[Row],
    blocks: Around,
    lasting: Around,
    held: dict[int, Row],
) -> None:
    """Note what is around rows; registers hold the values of known rows."""
    for act in acts:
        inner, later = (*blocks, id(act)), (*lasting, id(act))
        match act:
            case If(then=then, otherwise=otherwise):
                _note(then, made, numbers, (*inner, 0), (*later, 0), dict(held))
                _note(otherwise, made, numbers, (*inner, 1), (*later, 1), dict(held))
                _forget(held, act)
            case While(condition=condition, acts=own):
                _forget(held, act)
                _note(condition, made, numbers, inner, lasting, held)
                _note(own, made, numbers, inner, later, dict(held))
            case Sweep(acts=own):
                _forget(held, act)
                _note(own, made, numbers, inner, later, dict(held))
            case _:
                number = next(numbers)
                made.blocks[number], made.lasting[number] = blocks, lasting
                if isinstance(act, Get):
                    made.same[number] = held.setdefault(act.register, number)
                elif isinstance(act, Set):
                    held[act.register] = made.same.get(act.value, act.value)


def _forget(held: dict[int, Row], act: Act) -> None:
    """Forget the values of registers that an act changes."""
    for register in {row.register for row in rows_of([act]) if isinstance(row, Set)}:
        held.pop(register, None)


def levels_together(rows: Sequence[Instruction], acts: Iterable[Act], first: Row) -> list[Together]:
    """Return the levels that are clamped, those together whose first one is known to all."""
    around = surroundings(acts, first)
    found: dict[Base, list[list[tuple[Level, int]]]] = {}
    for level in _clamped(rows, around.blocks):
        base, distance = _distance(rows, around.same, level.level)
        own, groups = around.blocks[level.row], found.setdefault(base, [])
        for group in groups:
            known = around.blocks[group[0][0].row]
            if own[: len(known)] == known:
                group.append((level, distance))
                break
        else:
            groups.append([(level, distance)])
    return [
        Together(
            tuple((level, distance - group[0][1]) for level, distance in group),
            any(_covers(each, group, around.lasting) for each in groups[:number]),
        )
        for groups in found.values()
        for number, group in enumerate(groups)
    ]


def _covers(
    one: Sequence[tuple[Level, int]],
    other: Sequence[tuple[Level, int]],
    lasting: Mapping[Row, Around],
) -> bool:
    """Tell whether a test is made before another one, and says that its levels are inside too."""
    (mine, theirs) = (lasting[each[0][0].row] for each in (one, other))
    near, far = ([distance for _, distance in each] for each in (one, other))
    return theirs[: len(mine)] == mine and min(near) <= min(far) and max(far) <= max(near)


def _clamped(rows: Sequence[Instruction], among: Container[Row]) -> Iterator[Level]:
    """Yield the levels that are clamped to numbers."""
    users = Counter(each for row in rows for each in row.operands)
    for number, row in enumerate(rows):
        if number not in among or not isinstance(row, Compute) or row.dtype != "int64":
            continue
        inner = rows[row.args[0]] if row.op == "maximum" else row
        if inner is not row and isinstance(inner, Compute) and inner.op == "minimum":
            ends = row.args[1], inner.args[1]
            are_numbers = all(isinstance(rows[each], Number) for each in ends)
            if users[row.args[0]] == 1 and are_numbers:
                yield Level(number, row.args[0], inner.args[0], *ends)


def _distance(rows: Sequence[Instruction], same: Mapping[Row, Row], row: Row) -> tuple[Base, int]:
    """Return the terms of a sum that are not known, and the sum of the others."""
    terms, total, waiting = list[Row](), 0, [row]
    while waiting:
        number = waiting.pop()
        number = same.get(number, number)
        match rows[number]:
            case Compute(op="add", args=args):
                waiting += args
            case Constant(text=text):
                total += int(text)
            case _:
                terms.append(number)
    return tuple(sorted(terms)), total
