"""Find levels that are clamped to the ends of a field, and write them for the usual case: inside.

A load would wait for the extrema; a test that always has the same answer costs nothing. Levels at
known distances from each other share a test, where the first of them is known.

What loads at indices of their own need of fields, strides, first and last levels, gets names. Where
these are the same for all fields, as they are for arrays of one allocator, code with one value for
each computes each place once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias

from ....runtime.process import classes
from ...ir.loops import (
    Act,
    Buffer,
    Compute,
    Constant,
    If,
    Instruction,
    Load,
    Number,
    Row,
    Sweep,
    While,
)
from ..acts.act_trees import rows_of
from .body import Body, operand
from .scope import Scope

Around: TypeAlias = tuple[int, ...]  # the blocks around a row
Base: TypeAlias = tuple[Row, ...]  # the terms of a sum that are not known


CLAMPED: Final = {
    "clamped": """\
static inline s64 clamped(s64 i, s64 low, s64 high) {
  const s64 most = i < high ? i : high;
  return most > low ? most : low;
}""",
}
TESTED: Final = CLAMPED | {
    "rarely": "#define rarely(x) __builtin_expect_with_probability(x, 0, 1.0)",
    "outside": """\
static inline bool outside(s64 i, s64 span, s64 low, s64 high) {
  const s64 many = high - low - span + 1;
  return (unsigned long long)(i - low) >= (unsigned long long)(many > 0 ? many : 0);
}""",
}


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


def usual_levels(body: Body, acts: Iterable[Act]) -> list[Together]:
    """Return the levels that are clamped, those together whose first one is known to all."""
    scopes = dict(blocks_around(acts, ()))
    found: dict[Base, list[tuple[Around, list[tuple[Level, int]]]]] = {}
    for level in _clamped(body, scopes):
        base, distance = _distance(body.rows, level.level)
        scope, groups = scopes[id(body.rows[level.row])], found.setdefault(base, [])
        known = next((own for around, own in groups if scope[: len(around)] == around), None)
        if known is None:
            groups.append((scope, [(level, distance)]))
        else:
            known.append((level, distance))
    return [
        Together(tuple((level, distance - own[0][1]) for level, distance in own))
        for groups in found.values()
        for _, own in groups
    ]


def blocks_around(acts: Iterable[Act], around: Around) -> Iterator[tuple[int, Around]]:
    """Yield rows by identity, with the blocks around them."""
    for act in acts:
        match act:
            case If(then=then, otherwise=otherwise):
                yield from blocks_around(then, (*around, id(act), 0))
                yield from blocks_around(otherwise, (*around, id(act), 1))
            case While(condition=condition, acts=inner):
                yield from blocks_around((*condition, *inner), (*around, id(act)))
            case Sweep(acts=inner):
                yield from blocks_around(inner, (*around, id(act)))
            case _:
                yield id(act), around


def _clamped(body: Body, scopes: Mapping[int, Around]) -> Iterator[Level]:
    """Yield the levels that are clamped to numbers."""
    users = Counter(each for row in body.rows for each in row.operands)
    for number, row in enumerate(body.rows):
        if id(row) not in scopes or not isinstance(row, Compute) or row.dtype != "int64":
            continue
        inner = body.rows[row.args[0]] if row.op == "maximum" else row
        if inner is not row and isinstance(inner, Compute) and inner.op == "minimum":
            ends = row.args[1], inner.args[1]
            are_numbers = all(isinstance(body.rows[each], Number) for each in ends)
            if users[row.args[0]] == 1 and are_numbers:
                yield Level(number, row.args[0], inner.args[0], *ends)


def _distance(rows: Sequence[Instruction], row: Row) -> tuple[Base, int]:
    """Return the terms of a sum that are not known, and the sum of the others."""
    terms, total, waiting = list[Row](), 0, [row]
    while waiting:
        number = waiting.pop()
        match rows[number]:
            case Compute(op="add", args=args):
                waiting += args
            case Constant(text=text):
                total += int(text)
            case _:
                terms.append(number)
    return tuple(sorted(terms)), total


def _ends(groups: Iterable[Together]) -> list[list[Row]]:
    """Return the rows of the first levels, and those of the last ones."""
    levels = [level for group in groups for level, _ in group.levels]
    ends = ((each.first for each in levels), (each.last for each in levels))
    return [list(dict.fromkeys(each)) for each in ends]


def with_usual_levels(body: Body, groups: Iterable[Together], *, tested: bool) -> Body:
    """Return a body in which levels are compared with the ends, and rarely moved to one.

    Levels that are not `tested` always take the extrema.
    """
    instead = dict(body.instead)
    for group in groups:
        instead |= {row: "" for level, _ in group.levels for row in (level.row, level.inner)}
        instead[group.levels[0][0].row] = _text(body, group, tested=tested)
    if len(instead) > len(body.instead):
        body.scope.uses.functions.update(TESTED if tested else CLAMPED)
    return classes.evolve(body, instead=instead)


def _text(body: Body, group: Together, *, tested: bool) -> str:
    """Return the text that defines all levels of a group."""
    first, distances = group.levels[0][0], [distance for _, distance in group.levels]
    span = max(distances) - min(distances)
    level = operand(body, first.level)
    tests, values, moved = dict[str, None](), [], []
    for own, distance in group.levels:
        ends = f"{body.names[own.first]}, {body.names[own.last]}"
        tests[f"outside({_sum(level, min(distances))}, {span}, {ends})"] = None
        values.append(f"v{own.row} = {_sum(level, distance)}")
        moved.append(f"v{own.row} = clamped(v{own.row}, {ends})")
    rarely = f"if (rarely({' | '.join(tests)})) " if tested else ""
    return f"s64 {', '.join(values)}; {rarely}{', '.join(moved)};"


def _sum(level: str, distance: int) -> str:
    return f"{level} {'+' if distance > 0 else '-'} {abs(distance)}" if distance else level


@classes.frozen
class AlikeFields:
    """The names, and their values: of strides, of first levels, of last levels."""

    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def own(self) -> list[str]:
        """The value of each name."""
        return [each for group in self.groups for each in group]

    @property
    def alike(self) -> list[str]:
        """The values where those of a group are the same."""
        return [group[0] for group in self.groups for _ in group]

    @property
    def test(self) -> str:
        """Whether those of each group are the same; empty if they certainly are."""
        pairs = ((group[0], each) for group in self.groups for each in dict.fromkeys(group[1:]))
        return " && ".join(f"{one} == {each}" for one, each in pairs if one != each)


def with_alike_fields(body: Body, acts: Sequence[Act], *, tested: bool) -> tuple[Body, AlikeFields]:
    """Return a body that reads the names, and their values; levels are `tested`, or extrema."""
    strides, levels = _strides(body.scope, acts), usual_levels(body, acts)
    rows = _ends(levels)
    ends = {row: f"e{place}" for place, row in enumerate(chain(*rows))}
    names = (*(f"t{place}" for place in range(len(strides))), *ends.values())
    texts = (tuple(operand(body, row) for row in each) for each in rows)
    groups = (tuple(strides.values()), *texts)
    named = with_usual_levels(_named(body, strides, ends), levels, tested=tested)
    return named, AlikeFields(names, groups)


def _strides(scope: Scope, acts: Iterable[Act]) -> dict[str, str]:
    """Return by field the stride along which loads have indices of their own."""
    found = dict[str, str]()
    for row in rows_of(acts):
        if isinstance(row, Load) and row.is_told:
            buffer = scope.by_name[row.buffer]
            axis = next(axis for axis, index in enumerate(row.rows) if index is not None)
            if buffer.memory == "field":
                found[row.buffer] = scope.stride(buffer, axis)
    return found


def _named(body: Body, strides: Mapping[str, str], ends: Mapping[int, str]) -> Body:
    """Return a body with names for strides and ends."""
    scope, places = body.scope, list(strides)

    def stride(buffer: Buffer, axis: int) -> str:
        found = scope.stride(buffer, axis)
        return f"t{places.index(buffer.name)}" if strides.get(buffer.name) == found else found

    made = classes.evolve(scope, strides=stride)
    return classes.evolve(body, names={**body.names, **ends}, scope=made)
