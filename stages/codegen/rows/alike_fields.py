"""Give names to what loads at indices of their own need of fields: strides, first and last levels.

Where these are the same for all fields, as they are for arrays of one allocator, code with one
value for each computes each place once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....runtime.process import classes
from ...ir.loops import Act, Buffer, Load
from ..acts.act_trees import rows_of
from .body import Body
from .scope import Scope
from .usual_levels import Tests, end_rows, end_texts, usual_levels, with_usual_levels


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


def with_alike_fields(body: Body, acts: Iterable[Act], tests: Tests) -> tuple[Body, AlikeFields]:
    """Return a body that reads the names, and their values."""
    own = tuple(acts)
    strides, levels = _strides(body.scope, own), usual_levels(body, own)
    ends = {row: f"e{place}" for place, row in enumerate(end_rows(levels))}
    names = (*(f"t{place}" for place in range(len(strides))), *ends.values())
    groups = (tuple(strides.values()), *map(tuple, end_texts(body, levels)))
    named = _named(body, strides, ends)
    return with_usual_levels(named, levels, tests), AlikeFields(names, groups)


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
        is_own = strides.get(buffer.name) == found
        return f"t{places.index(buffer.name)}" if is_own else found

    made = classes.evolve(scope, strides=stride)
    return classes.evolve(body, names={**body.names, **ends}, scope=made)
