"""Infer the box of every value and input by a walk backwards from the stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ....runtime.process import DSLError, classes
from ...artifacts import Lowered
from ...ir import bounds
from ...ir.column_rows import Column
from ...ir.dataflow import (
    Collect,
    Const,
    Dataflow,
    Displace,
    Gather,
    Input,
    Level,
    Local,
    Map,
    Neighbours,
    Range,
    Ranges,
    Read,
    Reduce,
    Ref,
    Region,
    Result,
    Scan,
    Shift,
    Side,
    Statement,
    Table,
    Value,
    table_range,
)
from .. import regions
from ..rewrite import reachable
from .areas import MOST_AREAS, Area, Areas, Dims, Firmness, Need, widen
from .spans import Spans


def infer_boxes(program: Dataflow) -> Lowered:
    """Give every value the hull of the boxes that need it, and list the reads of each statement."""
    totals: list[Need] = [{} for _ in program.values]
    reads: list[Read] = []
    walk = Walk.of(program)
    for index, statement in enumerate(program.statements):
        needs = walk.needs(statement)
        for ref, need in needs.items():
            widen(totals[ref], need)
            _check_levels(program.values, ref, need, walk.areas)
        reads += _reads(program, index, needs, walk.areas)
    pairs = zip(program.values, totals, strict=True)
    boxes = tuple(_box(value, need, walk.areas) for value, need in pairs)
    return Lowered(program, boxes, tuple(reads))


def _box(value: Value, need: Need, areas: Areas) -> Ranges:
    """Return the box on which a value is computed; that of a scan has all its levels."""
    box = areas.of(value.dims, need)
    if not isinstance(value, Scan | Column) or not need:
        return box
    walked = Range(value.axis, value.start, value.stop)
    levels = walked if isinstance(value, Scan) else value.whole
    return tuple(levels if each.dim is value.axis else each for each in box)


def _sums(program: Dataflow) -> frozenset[Value]:
    """Return the scans that are sums: of others, the language reads states of all levels."""
    values = program.values
    scans = {row: each for row, each in enumerate(values) if isinstance(each, Scan)}
    if not scans:
        return frozenset()
    used = {store.value for each in program.statements for store in each.stores}
    for value in values:
        used |= set() if isinstance(value, Level) else set(value.operands)
    results = ((row, each) for row, each in enumerate(values) if isinstance(each, Result))
    read = {each.scan for row, each in results if row in used}
    return frozenset(each for row, each in scans.items() if row not in read)


@classes.frozen
class Walk:
    """The rows of a program, and the areas found so far.

    `narrowed` gives the range that a displacement reads of the whole range of its argument. `sums`
    are the scans of adjoints that sum what lies along a dimension.
    """

    values: tuple[Value, ...]
    tables: Mapping[str, Table]
    spans: Spans
    areas: Areas
    narrowed: Callable[[Displace, Range, Need], Range] = lambda _, whole, _need: whole
    sums: frozenset[Value] = frozenset()
    _outside: dict[regions.Boxes, regions.Boxes] = classes.field(factory=dict)

    @classmethod
    def of(cls, program: Dataflow, areas: Areas | None = None) -> Walk:
        """Start a walk; `areas` may know the numbers of a call."""
        tables = {table.name: table for table in program.tables}
        leaves = {leaf.name: leaf for leaf in program.leaves}
        spans = Spans(program.values, tables, leaves)
        return cls(program.values, tables, spans, areas or Areas(), sums=_sums(program))

    def needs(self, statement: Statement) -> dict[Ref, Need]:
        """Return the need of each value of a statement, in the order of the rows."""
        counts = Counter(store.target for store in statement.stores)
        return self.from_seeds(
            [
                (store.value, self.areas.number(Area(store.box, counts[store.target] == 1)))
                for store in statement.stores
            ]
        )

    def from_seeds(self, seeds: Sequence[tuple[Ref, int | None]]) -> dict[Ref, Need]:
        """Return the need of each value that the seeds depend on.

        A seed is a stored row and the number of the area that the store writes.
        """
        found = reachable(self.values, (ref for ref, _ in seeds))
        needs: dict[Ref, Need] = {ref: {} for ref in found}
        for ref, number in seeds:
            if number is not None:
                widen(needs[ref], {number: ((0, 0),) * len(self.values[ref].dims)})
        for ref in reversed(needs):
            value = self.values[ref]
            need = needs[ref]
            if len(need) > MOST_AREAS and value.operands:
                need = needs[ref] = self.areas.joined(value.dims, need)
            for operand, dims, asked in self._asked(value, need):
                widen(needs[operand], _onto(self.values[operand].dims, dims, asked))
        return needs

    def _asked(self, value: Value, need: Need) -> Iterator[tuple[Ref, Dims, Need]]:
        """Yield the operands of a value, with dimensions and needs along them."""
        match value:
            case Shift():
                yield value.arg, self.values[value.arg].dims, self._shifted(value, need)
            case Gather() | Neighbours():
                yield value.arg, *self._gathered(value, need)
            case Collect():
                local = self.tables[value.slots].source
                width = next(t.width for t in self.tables.values() if t.local is local)
                slots = Range(local, Const(0), Const(max(width, 1)))
                yield value.arg, *self._slots(*self._gathered(value, need), slots)
            case Reduce():
                table = self.tables[value.table]
                slots = Range(table.local, Const(0), Const(max(table.width, 1)))
                yield value.arg, *self._slots(value.dims, need, slots)
            case Local():
                slot = Range(value.dim, Const(value.index), Const(value.index + 1))
                yield value.arg, *self._slots(value.dims, need, slot)
            case Level():
                ends = map(self.areas.resolve, (value.at, bounds.add(value.at, 1)))
                yield value.arg, *self._slots(value.dims, need, Range(value.dim, *ends))
            case Displace():
                yield value.by, value.dims, self.areas.firm(need)
                start, stop = map(self.areas.resolve, self.spans.of(value.arg, value.dim))
                new = self.narrowed(value, Range(value.dim, start, stop), need)
                asked = self._replaced(value.dims, need, new, is_loose=True)
                yield value.arg, value.dims, asked
            case Region():
                yield from self._branches(value, need)
            case Scan():
                asked = self._walked(value, need)
                yield from ((operand, value.dims, asked) for operand in value.operands)
            case Column() | Result():
                yield from self._of_columns(value, need)
            case Map(op="select"):
                condition, *branches = value.args
                yield condition, value.dims, need
                soft = self.areas.softened(need)
                yield from ((branch, value.dims, soft) for branch in branches)
            case _:
                yield from ((operand, value.dims, need) for operand in value.operands)

    def _walked(self, value: Scan, need: Need) -> Need:
        """Return the need of the operands of a scan: on all levels."""
        new = Range(value.axis, *map(self.areas.resolve, (value.start, value.stop)))
        asked = self._replaced(value.dims, need, new)
        return asked if value in self.sums else self.areas.firm(asked)

    def _of_columns(self, value: Column | Result, need: Need) -> Iterator[tuple[Ref, Dims, Need]]:
        if isinstance(value, Column):
            walked = Range(value.axis, value.start, value.stop)
            wanted = (*value.levels, *(walked for _ in value.args))
            for operand, levels in zip(value.operands, wanted, strict=True):
                asked = self.areas.firm(self._replaced(value.dims, need, self._resolved(levels)))
                yield operand, value.dims, asked
        elif value.dims == self.values[value.scan].dims:
            yield value.scan, value.dims, need
        else:
            yield value.scan, *self._planes(value, need)

    def _planes(self, value: Result, need: Need) -> tuple[Dims, Need]:
        """Return the need of the columns whose planes are needed: on all levels."""
        column = self.values[value.scan]
        assert isinstance(column, Column)  # scans have no planes
        return self._slots(value.dims, need, self._resolved(column.whole))

    def _resolved(self, levels: Range) -> Range:
        return Range(levels.dim, *map(self.areas.resolve, (levels.start, levels.stop)))

    def _shifted(self, value: Shift, need: Need) -> Need:
        axis, by = value.dims.index(value.onto), value.offset
        asked: Need = {}
        for number, extent in need.items():
            before, beyond = extent[axis]
            made = self.areas.renamed(number, value.onto, value.dim)
            asked[made] = (*extent[:axis], (before + by, beyond + by), *extent[axis + 1 :])
        return asked

    def _gathered(self, value: Gather | Neighbours | Collect, need: Need) -> tuple[Dims, Need]:
        """Return the need of the source: the range of the valid entries in the needed rows."""
        table = self.tables[value.table]
        axis = value.dims.index(table.target)
        dims = tuple(table.source if dim is table.target else dim for dim in value.dims)
        asked: Need = {}
        for slots, part in self._by_slots(value, table, need).items():
            for number, extent in self.areas.joined(value.dims, part).items():
                rows = self.areas[number][table.target]
                start = bounds.add(rows.start, extent[axis][0])
                stop = bounds.add(rows.stop, extent[axis][1])
                ends = map(self.areas.resolve, table_range(table.name, start, stop, slots))
                entries = Range(table.source, *ends)
                made = self.areas.replaced(number, table.target, entries, table.skip)
                if made is not None:
                    widen(asked, {made: (*extent[:axis], (0, 0), *extent[axis + 1 :])})
        return dims, asked

    def _by_slots(
        self, value: Gather | Neighbours | Collect, table: Table, need: Need
    ) -> Mapping[tuple[int, ...], Need]:
        """Divide a need by the slots of the table that it reads; none stand for all."""
        if isinstance(value, Gather):
            return {(value.index,) if table.width > 1 else (): need}
        found: dict[tuple[int, ...], Need] = {}
        axis = value.dims.index(table.local)
        for number, extent in need.items():
            asked, (before, beyond) = self.areas[number][table.local], extent[axis]
            start, stop = bounds.add(asked.start, before), bounds.add(asked.stop, beyond)
            slots: tuple[int, ...] = ()
            if isinstance(start, Const) and isinstance(stop, Const):
                slots = tuple(range(start.value, stop.value))
            slots = slots if len(slots) < table.width else ()
            found.setdefault(slots, {})[number] = extent
        return found

    def _slots(self, dims: Dims, need: Need, slots: Range) -> tuple[Dims, Need]:
        asked: Need = {}
        for number, extent in need.items():
            widen(asked, {self.areas.added(number, slots): (*extent, (0, 0))})
        return (*dims, slots.dim), asked

    def _replaced(self, dims: Dims, need: Need, new: Range, is_loose: bool = False) -> Need:
        axis = dims.index(new.dim)
        asked: Need = {}
        for number, extent in need.items():
            made = self.areas.replaced(number, new.dim, new)
            if made is not None:
                made = self.areas.loosened(made, new.dim) if is_loose else made
                widen(asked, {made: (*extent[:axis], (0, 0), *extent[axis + 1 :])})
        return asked

    def _branches(self, value: Region, need: Need) -> Iterator[tuple[Ref, Dims, Need]]:
        if value.boxes not in self._outside:
            self._outside[value.boxes] = regions.without(regions.EVERYWHERE, value.boxes)
        whole = self.areas.joined(value.dims, need)
        outside = self._outside[value.boxes]
        for branch, boxes in ((value.then, value.boxes), (value.otherwise, outside)):
            for number, extent in whole.items():
                for box in boxes:
                    part = self.areas.cut(value.dims, {number: extent}, box)
                    yield branch, value.dims, self._existing(branch, value.dims, part)

    def _existing(self, ref: Ref, dims: Dims, need: Need) -> Need:
        """Return the part of a need that exists, along the dimensions that displacements read.

        A displaced read of a region is led past a branch that has no value on its part.
        """
        found: Need = {}
        for number, extent in need.items():
            loose = [d for d in self.areas[number].loose if d in self.values[ref].dims]
            sides = tuple(Side(dim, *self.spans.existing(ref, dim)) for dim in loose)
            part = {number: extent}
            found |= self.areas.cut(dims, part, sides, narrows=True) if sides else part
        return found


def _onto(dims: Dims, given: Dims, need: Need) -> Need:
    """Return the extents along `dims` only."""
    if dims == given:
        return need
    axes = [given.index(dim) for dim in dims]
    return {number: tuple(extent[axis] for axis in axes) for number, extent in need.items()}


def _check_levels(values: Sequence[Value], ref: Ref, need: Need, areas: Areas) -> None:
    """Refuse a scan whose result is certainly needed on levels that it does not walk."""
    value = values[ref]
    if not isinstance(value, Scan):
        return
    axis = value.dims.index(value.axis)
    for number, extent in need.items():
        asked = areas[number][value.axis]
        if not areas[number].certain or areas[number].firmness is Firmness.SOFT:
            continue
        before = bounds.difference(bounds.add(asked.start, extent[axis][0]), value.start)
        beyond = bounds.difference(bounds.add(asked.stop, extent[axis][1]), value.stop)
        if (before or 0) < 0 or (beyond or 0) > 0:
            side = "below the first" if (before or 0) < 0 else "beyond the last"
            raise DSLError(
                None,
                f"The result of a scan along '{value.axis.value}' is read {side} level that the "
                "statement writes, where it has no value.",
                hints=("Choose another value there with 'concat_where', or write fewer levels.",),
            )


def _reads(
    program: Dataflow, statement: int, needs: Mapping[Ref, Need], areas: Areas
) -> Iterator[Read]:
    found: dict[str, tuple[Value, Need]] = {}
    for ref, need in needs.items():
        value = program.values[ref]
        if isinstance(value, Input):
            found[value.name] = value, need
    for name, (value, need) in sorted(found.items()):
        yield Read(statement, name, areas.of(value.dims, need), areas.is_pointwise(need))
