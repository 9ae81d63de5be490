"""Find levels that are clamped to the ends of a field, and write them for the usual case: inside.

A load would wait for the extrema; a test that always has the same answer costs nothing. Levels at
known distances from each other share a test, where the first of them is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.process import classes
from ...ir.loops import Act, Compute, Constant, If, Instruction, Number, Row, Sweep, While
from .body import Body, operand

Scope: TypeAlias = tuple[int, ...]  # the blocks around a row
Base: TypeAlias = tuple[Row, ...]  # the terms of a sum that are not known


@classes.frozen
class Tests:
    """The functions of the text of a platform: how they begin, and that a test rarely holds."""

    begin: str
    rarely: str

    @property
    def functions(self) -> dict[str, str]:
        """The text of each function."""
        return {
            "rarely": f"#define rarely(x) {self.rarely}",
            "outside": f"""\
{self.begin} bool outside(s64 i, s64 span, s64 low, s64 high) {{
  const s64 many = high - low - span + 1;
  return (unsigned long long)(i - low) >= (unsigned long long)(many > 0 ? many : 0);
}}""",
            "clamped": f"""\
{self.begin} s64 clamped(s64 i, s64 low, s64 high) {{
  const s64 most = i < high ? i : high;
  return most > low ? most : low;
}}""",
        }


CPU: Final = Tests("static inline", "__builtin_expect_with_probability(x, 0, 1.0)")
GPU: Final = Tests("DEVICE", "__builtin_expect(x, 0)")


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
    scopes = dict(_scopes(acts, ()))
    found: dict[Base, list[tuple[Scope, list[tuple[Level, int]]]]] = {}
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


def _scopes(acts: Iterable[Act], around: Scope) -> Iterator[tuple[int, Scope]]:
    """Yield rows by identity, with the blocks around them."""
    for act in acts:
        match act:
            case If(then=then, otherwise=otherwise):
                yield from _scopes(then, (*around, id(act), 0))
                yield from _scopes(otherwise, (*around, id(act), 1))
            case While(condition=condition, acts=inner):
                yield from _scopes((*condition, *inner), (*around, id(act)))
            case Sweep(acts=inner):
                yield from _scopes(inner, (*around, id(act)))
            case _:
                yield id(act), around


def _clamped(body: Body, scopes: Mapping[int, Scope]) -> Iterator[Level]:
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


def end_rows(groups: Iterable[Together]) -> list[Row]:
    """Return the rows of the first levels, then those of the last ones."""
    return [row for own in _ends(groups) for row in own]


def end_texts(body: Body, groups: Iterable[Together]) -> list[list[str]]:
    """Return the first levels, and the last ones."""
    return [[operand(body, row) for row in own] for own in _ends(groups)]


def _ends(groups: Iterable[Together]) -> list[list[Row]]:
    levels = [level for group in groups for level, _ in group.levels]
    ends = ((each.first for each in levels), (each.last for each in levels))
    return [list(dict.fromkeys(each)) for each in ends]


def with_usual_levels(body: Body, groups: Iterable[Together], tests: Tests) -> Body:
    """Return a body in which levels are compared with the ends, and rarely moved to one."""
    instead = dict[Row, str]()
    for group in groups:
        instead |= {row: "" for level, _ in group.levels for row in (level.row, level.inner)}
        instead[group.levels[0][0].row] = _text(body, group)
    if instead:
        body.scope.uses.functions.update(tests.functions)
    return classes.evolve(body, instead=instead)


def _text(body: Body, group: Together) -> str:
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
    return f"s64 {', '.join(values)}; if (rarely({' | '.join(tests)})) {', '.join(moved)};"


def _sum(level: str, distance: int) -> str:
    return f"{level} {'+' if distance > 0 else '-'} {abs(distance)}" if distance else level
