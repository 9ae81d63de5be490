"""Write the body of a nest: each value once a point, outside loops that do not change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir import bounds, dataflow
from ...ir.gates import ungated
from ...ir.loops import Argument, Constant, Instruction, Load, NestLoop, Range, Reading, Row
from .discovery import Answer, Home, Homes, discover, home_of
from .guards import (
    ALWAYS,
    NEVER,
    Beyond,
    Guard,
    InPart,
    LoopPart,
    Test,
    answer_from,
    both,
    parts_of,
    within,
)
from .index_rows import IndexRows, neutral
from .needs import Need, Span
from .order import level_of
from .places import FIXED, OWN, Coord, Entries, Moved, Point
from .points import Points

# The most parts of a loop, and the most copies of a body.
MOST_PARTS: Final = 9
MOST_POINTS_IN_PARTS: Final = 600


@classes.frozen
class NestBody:
    """The instructions of a nest, the parts of its innermost loop, and what it reads."""

    rows: tuple[Instruction, ...]
    reads: tuple[Reading, ...]
    parts: tuple[Range, ...] = ()


def write_body(
    points: Points,
    stores: Sequence[tuple[str, Point]],
    loops: Sequence[NestLoop],
    homes: Homes,
    needs: Mapping[int, Need],
    rims: bool = True,
) -> NestBody:
    """Return instructions that compute `stores` (buffer, point); all loads precede all stores.

    `homes` are the buffers of nodes that are arrays, which other nests fill. `needs` gives the
    indices at which the nest needs each node. Without `rims`, loops are one part, but for
    those along elements alone that look up no neighbour.
    """
    roots = [root for _, root in stores]
    writer = BodyWriter(points, roots, loops, homes)
    if rims or (len(loops) == 1 and not writer.looks_up()):
        writer.cut(roots)
    for part in range(len(writer.founds)):
        writer.store_all(stores, part)
    parts = tuple(part.range for part in writer.parts)
    return NestBody(tuple(writer.rows), writer.reads(needs), parts)


class BodyWriter(IndexRows):
    """The rows of one nest while they are written, operands first."""

    def __init__(
        self,
        points: Points,
        roots: Sequence[Point],
        loops: Sequence[NestLoop],
        homes: Homes,
    ) -> None:
        super().__init__(points, loops)
        self.homes = homes
        ends = ((each.range.dim, each.range.start, each.range.stop) for each in loops)
        self.ranges = {dim: Range(dim, ungated(start), ungated(stop)) for dim, start, stop in ends}
        self.moved: dict[str, dict[Dimension, None]] = {}
        self.loaded: dict[int, Home] = {}
        self.founds = [discover(points, roots, homes, self._answer(None))]

    def _answer(self, part: LoopPart | None) -> Answer:
        def answer(test: Test) -> bool | None:
            known = answer_from(self.ranges, test)
            return known if known is not None or part is None else part.answer(test)

        return answer

    def looks_up(self) -> bool:
        """Tell whether the nest reads entries of tables."""
        return any(
            isinstance(self.points.nodes[index].value, Entries)
            for index, _ in self.founds[0].guards
        )

    def cut(self, roots: Sequence[Point]) -> None:
        """Cut the innermost loop where regions begin and end."""
        if not self.loops:
            return
        inner = self.loops[-1].range
        (found,) = self.founds
        tests = dict.fromkeys(
            test
            for choice in found.choices.values()
            for case in choice
            for test, _ in case
            if isinstance(test, Beyond) and test.base == OWN and test.dim is inner.dim
        )
        most = min(MOST_PARTS, MOST_POINTS_IN_PARTS // len(found.guards))
        parts = parts_of(inner, list(tests), most)
        if len(parts) > 1:
            self.parts = parts
            self.founds = [
                discover(self.points, roots, self.homes, self._answer(part)) for part in parts
            ]

    # --- points ------------------------------------------------------------------------------

    def row(self, root: Point, part: int = 0) -> Row:
        """Return the row of a point; write it if it is missing."""
        pending = [(root, False)]
        while pending:
            point, ready = pending.pop()
            if (part, point) in self.places:
                continue
            if ready:
                self.places[part, point] = self._written(point, part)
            else:
                pending.append((point, True))
                pending += [(each, False) for each in reversed(self._before(point, part))]
        return self.places[part, root]

    def store_all(self, stores: Iterable[tuple[str, Point]], part: int = 0) -> None:
        """Write points to buffers; all loads precede all stores."""
        rows = [(target, self.row(root, part)) for target, root in stores]
        for target, row in rows:
            self.store(target, row, part)

    def _before(self, point: Point, part: int) -> Sequence[Point]:
        """Return the points whose rows must precede that of `point`."""
        found = self.founds[part]
        if home_of(self.points, point[0], self.homes) is not None:
            return [*self.points.needed_to_find(point), *self._finders(found.guards[point])]
        if point in found.chosen:
            return [found.chosen[point]]
        if isinstance(self.points.nodes[point[0]].value, dataflow.Index):
            return self.points.needed_to_find(point)
        return [*self._finders(found.choices.get(point)), *self.points.operands(point)]

    def _finders(self, guard: Guard | None) -> list[Point]:
        return self.points.finders(
            test.base for case in guard or () for test, _ in case if isinstance(test, Beyond)
        )

    def _written(self, point: Point, part: int) -> Row:
        """Write the row of a point after the rows that it needs."""
        home = home_of(self.points, point[0], self.homes)
        if home is not None:
            return self._load(point, home, part)
        found, value = self.founds[part], self.points.nodes[point[0]].value
        if point in found.chosen:
            return self.places[part, found.chosen[point]]
        args = [self.places[part, operand] for operand in self.points.operands(point)]
        match value:
            case dataflow.Scalar(name=name):
                return self.add(Argument(dtype=value.dtype, name=name))
            case dataflow.Index(dim=dim):
                return self.shifted(dim, point[1][0], part)
            case dataflow.Literal(text=text):
                return self.add(Constant(dtype=value.dtype, text=text))
            case dataflow.Map(op=op):
                return self.compute(op, value.dtype, args, part)
            case dataflow.Region():
                test = self.condition(found.choices[point], part)
                return self.compute("select", value.dtype, [test, *args], part)
            case dataflow.Reduce(op=op, table=table):
                return self.reduced(op, value.dtype, args, self.points.tables[table].width, part)
        raise TypeError(f"The code generator does not know '{type(value).__name__}'.")

    # --- loads -------------------------------------------------------------------------------

    def _load(self, point: Point, home: Home, part: int) -> Row:
        node = self.points.nodes[point[0]]
        guard = self.founds[part].guards[point]
        self.loaded[point[0]] = home
        if guard == NEVER and node.dims:  # inside a region and outside of it
            return self.add(Constant(dtype=node.value.dtype, text=neutral("sum", node.value.dtype)))
        places = [
            self._index(dim, coord, home, guard, part)
            for dim, coord in zip(node.dims, point[1], strict=True)
        ]
        rows = tuple(row for row, _ in places)
        own = [dim for dim, row in zip(node.dims, rows, strict=True) if row is None]
        level = level_of([dim for dim in own if dim in self.ranges], self.loops)
        level = max([level, *(self.rows[row].level for row in rows if row is not None)])
        when = self._when_read(point, level, guard, part) if node.dims else None
        load = self.add(
            Load(
                dtype=node.value.dtype,
                level=level if when is None else max(level, self.rows[when].level),
                buffer=home.name,
                dims=node.dims,
                offsets=tuple(offset for _, offset in places),
                rows=rows if len(own) < len(rows) else (),
                when=when,
            ),
            part,
        )
        return self._or_nothing(load, point, home, part) if self.points.checked else load

    def _or_nothing(self, row: Row, point: Point, home: Home, part: int) -> Row:
        """Return the loaded value, or NaN where 'as_offset' leads out of the buffer."""
        node = self.points.nodes[point[0]]
        if not node.value.dtype.startswith("float"):
            return row
        for dim, (base, offset) in zip(node.dims, point[1], strict=True):
            if base > OWN and isinstance(self.points.indices[base], Moved):
                asked = self.shifted(dim, (base, offset), part)
                inside = self.clamped(dim, (base, offset), home, part)
                nothing = self.add(Constant(dtype=node.value.dtype, text="nan"))
                there = self.compute("eq", "bool", [asked, inside], part)
                row = self.compute("select", node.value.dtype, [there, row, nothing], part)
        return row

    def _when_read(self, point: Point, level: int, guard: Guard | None, part: int) -> Row | None:
        """Return the row that says whether a load happens; None if it always does.

        Rows outside the innermost loop run before the code knows whether a part has a point.
        """
        if (
            guard is not None
            and self.parts
            and level < len(self.loops)
            and any(found.guards.get(point) != ALWAYS for found in self.founds)
        ):
            guard = both(guard, (((InPart(part), True),),))
        return None if guard is None or guard == ALWAYS else self.condition(guard, part)

    def _index(
        self, dim: Dimension, coord: Coord, home: Home, guard: Guard | None, part: int
    ) -> tuple[Row | None, int]:
        """Return the index of an axis: a row, or None for the loop's own index, and an offset."""
        base, offset = coord
        if base == FIXED:
            return None, offset
        moved = guard is None or self.points.indices.unsure(base)
        if moved or (home.axis is dim and not self._is_inside(dim, coord, home, guard or NEVER)):
            self.moved.setdefault(home.name, {})[dim] = None
            return self.clamped(dim, coord, home, part), 0
        return (None if base == OWN else self.base(base, part)), offset

    def _is_inside(self, dim: Dimension, coord: Coord, home: Home, guard: Guard) -> bool:
        """Tell whether the levels of a scan are known to contain every read of its result."""
        base, offset = coord
        if base != OWN:
            return False
        start, stop = home.ends(dim)
        read = (within(self.ranges[dim], case) for case in guard)
        return all(
            bounds.is_at_least(bounds.add(each.start, offset), start)
            and bounds.is_at_least(stop, bounds.add(each.stop, offset))
            for each in read
        )

    def reads(self, needs: Mapping[int, Need]) -> tuple[Reading, ...]:
        """Return what the nest reads, given the indices at which it needs each node."""
        found: dict[Reading, None] = {}
        for index, home in self.loaded.items():
            need, dims = needs[index], self.points.nodes[index].dims
            found[Reading(home.name, tuple(_needed(need[dim], dim, home) for dim in dims))] = None
            if moved := self.moved.get(home.name):
                box = tuple(_needed(None if dim in moved else need[dim], dim, home) for dim in dims)
                found[Reading(home.name, box, moved=True)] = None
        return tuple(found)


def _needed(span: Span | None, dim: Dimension, home: Home) -> Range:
    """Return the indices that must exist; one is enough where loads clamp their indices."""
    if span is not None:
        return span.range(dim)
    start, stop = home.ends(dim)
    return Range(dim, start, bounds.maximum(stop, bounds.add(start, 1)))
