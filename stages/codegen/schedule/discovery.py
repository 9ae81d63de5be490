"""Find what a nest computes: its points, operands first, and the guard of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.bounds import Bound, Const, DomainSymbol, Ranges
from .guards import (
    ALWAYS,
    NEVER,
    Beyond,
    Guard,
    Test,
    both,
    cases_in,
    decided,
    either,
)  # fmt: skip
from .needs import outside_of
from .places import OWN, Entries, Point
from .points import Points

Answer: TypeAlias = Callable[[Test], bool | None]


TABLE: Final = "table "  # what the names of the buffers of tables begin with


def table_buffer(name: str) -> str:
    """Return the name of a table's buffer; no parameter can have it."""
    return f"{TABLE}{name}"


@classes.frozen
class Home:
    """The buffer of a node; `box` is that of an array, `axis` that of a scan's result."""

    name: str
    box: Ranges | None = None
    axis: Dimension | None = None

    def ends(self, dim: Dimension) -> tuple[Bound, Bound]:
        """Return the first index of the buffer along a dimension, and one past the last."""
        if self.box is None:
            return DomainSymbol("start", self.name, dim), DomainSymbol("stop", self.name, dim)
        own = next(each for each in self.box if each.dim is dim)
        return own.start, own.stop


Homes: TypeAlias = Mapping[int, Home]  # of the arrays that other nests have filled


def home_of(points: Points, index: int, homes: Homes) -> Home | None:
    """Return the buffer of a node; None if the nest computes it."""
    value = points.nodes[index].value
    if isinstance(value, dataflow.Input):
        return Home(value.name)
    if isinstance(value, Entries):
        return Home(table_buffer(value.table))
    return homes.get(index)


@classes.frozen
class Found:
    """The points of a nest in an order of computation, with their guards.

    A guard of None stands for too many conditions, or for conditions that would depend on each
    other: the nest then always reads the value and clamps its indices. `choices` are the regions
    without a known side, and the guard of their first branch; `chosen` are the others, and their
    branch.
    """

    guards: dict[Point, Guard | None]
    choices: dict[Point, Guard]
    chosen: dict[Point, Point]


def discover(points: Points, roots: Sequence[Point], homes: Homes, answer: Answer) -> Found:
    """Walk from the roots of a nest to its loads; `answer` decides tests."""
    return _Discovery(points, homes, answer).run(roots)


@classes.frozen
class _Discovery:
    points: Points
    homes: Homes
    answer: Answer
    choices: dict[Point, Guard] = classes.field(factory=dict)
    chosen: dict[Point, Point] = classes.field(factory=dict)
    branches: dict[Point, list[tuple[Point, Guard | None]]] = classes.field(factory=dict)

    def run(self, roots: Sequence[Point]) -> Found:
        order: dict[Point, None] = {}
        for root in roots:
            pending = [(root, False)]
            while pending:
                point, ready = pending.pop()
                if point in order:
                    continue
                if ready:
                    order[point] = None
                    continue
                pending.append((point, True))
                inner = [operand for operand, _ in self._operands(point)]  # decides regions
                pending += [(each, False) for each in reversed([*self._finders(point), *inner])]
        return Found(self._guards(list(order), roots), self.choices, self.chosen)

    def _finders(self, point: Point) -> list[Point]:
        """Return the points that give the index of a load, or the side of a region."""
        is_found = (
            isinstance(self.points.nodes[point[0]].value, dataflow.Index)
            or home_of(self.points, point[0], self.homes) is not None
            or point in self.choices
        )
        return self.points.needed_to_find(point) if is_found else []

    def _operands(self, point: Point) -> list[tuple[Point, Guard | None]]:
        """Return the operands of a point, and the guard of each."""
        found = self.branches.get(point)
        if found is None:
            operands, value = self.points.operands(point), self.points.nodes[point[0]].value
            if home_of(self.points, point[0], self.homes) is not None:
                found = []
            elif isinstance(value, dataflow.Region):
                found = list(self._chosen(point, value, operands))
            else:
                found = [(operand, ALWAYS) for operand in operands]
            self.branches[point] = found
        return found

    def _chosen(
        self, point: Point, region: dataflow.Region, operands: Sequence[Point]
    ) -> Iterator[tuple[Point, Guard | None]]:
        plain = self.points.indices.plain
        coords = {dim: plain(dim, at) for dim, at in zip(region.dims, point[1], strict=True)}
        first = decided(cases_in(region.boxes, coords), self.answer)
        outer = outside_of(region.boxes)
        second = None if outer is None else decided(cases_in(outer, coords), self.answer)
        if first not in (ALWAYS, NEVER) and second != NEVER:
            self.choices[point] = first
            there = self._there(region, {dim: base for dim, (_, (base, _)) in coords.items()})
            for operand, when in zip(operands, (first, second), strict=True):
                yield operand, None if when is None else both(there, when)
        else:
            self.chosen[point] = operands[first == NEVER]
            yield self.chosen[point], ALWAYS

    def _there(self, region: dataflow.Region, bases: Mapping[Dimension, int]) -> Guard:
        """Return the guard under which no skip value decides the side of a region.

        Inference looks only at valid entries, so a skip value says nothing about what may be read,
        on whichever side of a region it lies.
        """
        dims = dict.fromkeys(side.dim for box in region.boxes for side in box)
        entries = {entry: dim for dim in dims for entry in self.points.indices.missing(bases[dim])}
        return (tuple((Beyond(dim, entry, Const(0)), True) for entry, dim in entries.items()),)

    def _guards(self, order: Sequence[Point], roots: Sequence[Point]) -> dict[Point, Guard | None]:
        if not self.choices:
            return dict.fromkeys(order, ALWAYS)
        guards: dict[Point, Guard | None] = dict.fromkeys(order, NEVER)
        guards |= dict.fromkeys(roots, ALWAYS)
        finders: set[Point] = set()  # and all that they are computed from
        for point in reversed(order):
            guard = guards[point]
            if point in finders:
                guard = guards[point] = _without_waiting(guard)
            for operand, when in self._operands(point):
                guards[operand] = _join(guards[operand], guard, when)
                if point in finders:
                    finders.add(operand)
            for finder in self._finders(point):
                guards[finder] = _join(guards[finder], guard, ALWAYS)
                finders.add(finder)
        return guards


def _join(old: Guard | None, user: Guard | None, when: Guard | None) -> Guard | None:
    if old is None or user is None or when is None:
        return None
    more = both(user, when)
    return None if more is None else either(old, more)


def _without_waiting(guard: Guard | None) -> Guard | None:
    """Return the guard without tests of values that are needed to compute the guard."""
    waits = any(
        isinstance(test, Beyond) and test.base != OWN for case in guard or () for test, _ in case
    )
    return None if waits else guard
