"""Write levels that are clamped to the ends of a field, for the usual case: inside.

A load would wait for the extrema; a test that always has the same answer costs nothing.

What loads at indices of their own need of fields, strides, first and last levels, gets names. Where
these are the same for all fields, as they are for arrays of one allocator, code with one value for
each computes each place once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from ....runtime.process import classes
from ...ir.loops import Act, Buffer, Load, Row
from ..acts.act_trees import rows_of
from .body import Body, operand
from .level_groups import Together
from .scope import Scope, plus

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
static inline bool outside(s64 i, s64 span, s64 high) {
  const s64 many = high - span + 1;
  return (unsigned long long)i >= (unsigned long long)(many > 0 ? many : 0);
}""",
}


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

    @property
    def equal(self) -> list[str]:
        """The stride and the last level where those of all fields are the same."""
        strides, _, lasts = self.groups
        return [(*each, "0")[0] for each in (strides, lasts)]

    @property
    def test_equal(self) -> str:
        """Whether all fields have one stride, and the same levels from 0 on."""
        lows = (f"{low} == 0" for low in self.groups[1][:1])
        return " && ".join(each for each in (self.test, *lows) if each) or "true"


def with_alike_fields(
    body: Body, acts: Sequence[Act], levels: Sequence[Together]
) -> tuple[Body, AlikeFields]:
    """Return a body that reads the names, and their values; `levels` are those of its acts."""
    strides, rows = _strides(body.scope, acts), _ends(levels)
    places = {each: f"t{place}" for place, each in enumerate(strides.items())}
    ends = {row: f"e{place}" for place, row in enumerate(chain(*rows))}
    texts = (tuple(operand(body, row) for row in each) for each in rows)
    named = _with_levels(_named(body, places, ends), levels)
    names = (*places.values(), *ends.values())
    return named, AlikeFields(names, (tuple(strides.values()), *texts))


def with_equal_fields(
    body: Body, acts: Sequence[Act], levels: Sequence[Together], *, leaves: bool
) -> Body:
    """Return a body for fields with one stride, `stride`, and the levels from 0 to `most`.

    Its code is in a function that returns false where a level is outside, if it `leaves`; otherwise
    such a level is moved to an end.
    """
    low, high = _ends(levels)
    ends = dict.fromkeys(low, "0") | dict.fromkeys(high, "most")
    named = _named(body, dict.fromkeys(_strides(body.scope, acts).items(), "stride"), ends)
    return _with_levels(named, levels, tested=True, leaves=leaves)


def _ends(groups: Iterable[Together]) -> list[list[Row]]:
    """Return the rows of the first levels, and those of the last ones."""
    levels = [level for group in groups for level, _ in group.levels]
    ends = ((each.first for each in levels), (each.last for each in levels))
    return [list(dict.fromkeys(each)) for each in ends]


def _with_levels(
    body: Body, groups: Iterable[Together], *, tested: bool = False, leaves: bool = False
) -> Body:
    """Return a body in which levels take the extrema, or are `tested` and rarely do."""
    instead = dict(body.instead)
    for group in groups:
        instead |= {row: "" for level, _ in group.levels for row in (level.row, level.inner)}
        instead[group.levels[0][0].row] = _text(body, group, tested=tested, leaves=leaves)
    if len(instead) > len(body.instead):
        body.scope.uses.functions.update(TESTED if tested else CLAMPED)
    return classes.evolve(body, instead=instead)


def _text(body: Body, group: Together, *, tested: bool, leaves: bool) -> str:
    """Return the text that defines all levels of a group."""
    first, distances = group.levels[0][0], [distance for _, distance in group.levels]
    level, names = operand(body, first.level), body.names
    near, span = plus(level, min(distances)), max(distances) - min(distances)
    values = [f"v{own.row} = {plus(level, distance)}" for own, distance in group.levels]
    defined = f"s64 {', '.join(values)};"
    test = f"if (rarely(outside({near}, {span}, most))) " if tested else ""
    if leaves:
        return defined if group.is_sure else f"{test}return false; {defined}"
    moved = (
        f"v{own.row} = clamped(v{own.row}, {names[own.first]}, {names[own.last]})"
        for own, _ in group.levels
    )
    return f"{defined} {test}{', '.join(moved)};"


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


def _named(body: Body, strides: Mapping[tuple[str, str], str], ends: Mapping[Row, str]) -> Body:
    """Return a body with names for strides of fields, and for ends."""
    scope = body.scope

    def stride(buffer: Buffer, axis: int) -> str:
        found = scope.stride(buffer, axis)
        return strides.get((buffer.name, found), found)

    made = classes.evolve(scope, strides=stride)
    return classes.evolve(body, names={**body.names, **ends}, scope=made)
