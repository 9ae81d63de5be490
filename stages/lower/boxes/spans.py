"""Find the range of indices along one dimension on which a value can be computed.

An input has its own range, a scan its levels, a displaced value that of its distances, and a value
with several operands the intersection of their ranges. A displaced read is clamped to this range,
whatever its distance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import DSLError, classes
from ...ir import bounds
from ...ir.column_rows import Column
from ...ir.dataflow import (
    Bound,
    Collect,
    Const,
    Displace,
    Gather,
    Index,
    Input,
    Leaf,
    Literal,
    Map,
    Neighbours,
    Ref,
    Region,
    Result,
    Scalar,
    ScalarSymbol,
    Scan,
    Shift,
    Side,
    Table,
    Value,
    add,
    greatest,
    least,
    maximum,
    minimum,
    subtract,
)
from .. import regions

Span: TypeAlias = tuple[Bound | None, Bound | None]  # None is infinity
Place: TypeAlias = tuple[Ref, Dimension]

ENDLESS: Span = (None, None)
CONSTANT: Final = "Apply 'as_offset' to an argument, not to a constant."
BY_DATA: Final = "Displace a value by a field that has an end, or displace it once."


@classes.frozen
class Spans:
    """Find the ranges of the rows of a program."""

    values: Sequence[Value]
    tables: Mapping[str, Table]
    leaves: Mapping[str, Leaf]
    _known: dict[Place, Span] = classes.field(factory=dict)
    _far: dict[Place, _Distances] = classes.field(factory=dict)

    def of(self, ref: Ref, dim: Dimension) -> tuple[Bound, Bound]:
        """Return the range of a value along one of its dimensions, at least one index long."""
        start, stop = self.existing(ref, dim)
        edges = self._edges(ref, dim) if start is None or stop is None else []
        if edges:  # beyond all edges of regions the value is constant
            start = add(least(edges), -1) if start is None else start
            stop = add(greatest(edges), 1) if stop is None else stop
        if start is None or stop is None:
            is_by_data = None in self._far.values()
            raise _endless(dim, BY_DATA if is_by_data else CONSTANT)
        return start, maximum(stop, add(start, 1))

    def existing(self, ref: Ref, dim: Dimension) -> Span:
        """Return the range on which a value exists along one of its dimensions, maybe empty."""
        stack = [(ref, dim)]
        while stack:
            place = stack[-1]
            missing = [each for each in self._sources(*place) if each not in self._known]
            stack += missing
            if not missing:
                self._known[stack.pop()] = self._span(*place)
        return self._known[ref, dim]

    def _edges(self, ref: Ref, dim: Dimension) -> list[Bound]:
        """Return all bounds along a dimension that a value depends on, where it is read."""
        found: dict[Bound, None] = {}
        pending: list[tuple[Ref, Dimension, Bound]] = [(ref, dim, Const(0))]
        seen = set()
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            row, along, offset = place
            value = self.values[row]
            ends = [end for end in self._known.get((row, along), ENDLESS) if end is not None]
            has_ends = len(ends) == 2
            if isinstance(value, Region):
                sides = [side for box in value.boxes for side in box if side.dim is along]
                ends += [end for s in sides for end in (s.start, s.stop) if end is not None]
            found.update(dict.fromkeys(subtract(end, offset) for end in ends))
            moves = isinstance(value, Shift) and value.onto is along
            more = value.offset if moves and isinstance(value, Shift) else 0
            if has_ends:  # it ends before its operands do
                continue
            for source in self._sources(row, along):
                displaced = isinstance(value, Displace) and source == (value.arg, value.dim)
                far = self._distances(row, along) if displaced else (Const(more),)
                pending += [(*source, add(offset, each)) for each in far]
        return list(found)

    def _distances(self, ref: Ref, dim: Dimension) -> tuple[Bound, ...]:
        """Return how far a displacement leads beyond the ends of its own fields, if that is known.

        Distances that only data know end nothing: the displaced read is clamped everywhere.
        """
        if (ref, dim) not in self._far:
            value = self.values[ref]
            assert isinstance(value, Displace)
            self._far[ref, dim] = _distances_of(self.values, value.by, dim)
        return self._far[ref, dim] or ()

    def _sources(self, ref: Ref, dim: Dimension) -> Iterator[Place]:
        """Yield the values and dimensions whose ranges determine the range of a value."""
        value = self.values[ref]
        if isinstance(value, Shift) and value.onto is dim:
            yield value.arg, value.dim
        elif (
            isinstance(value, Gather | Neighbours | Collect)
            and self.tables[value.table].target is dim
        ):
            return
        elif not (isinstance(value, Scan | Column) and value.axis is dim):
            for operand in value.operands:
                if dim in self.values[operand].dims:
                    yield operand, dim

    def _span(self, ref: Ref, dim: Dimension) -> Span:
        value = self.values[ref]
        found = [self._known[each] for each in self._sources(ref, dim)]
        match value:
            case Input():
                return self.leaves[value.name].ends(dim)
            case Scan() if value.axis is dim:
                return value.start, value.stop
            case Column() if value.axis is dim:
                return value.whole.start, value.whole.stop
            case Result() if isinstance(column := self.values[value.scan], Column) and (
                column.axis is dim
            ):
                levels = column.levels[value.index]
                return levels.start, levels.stop
            case Shift() if value.onto is dim:
                ((start, stop),) = found
                back = -value.offset
                return start and add(start, back), stop and add(stop, back)
            case Displace() if value.dim is dim:
                return self._displaced(ref, value)
            case Region():
                return self._region(value, dim)
        start, stop = ENDLESS
        for ours, theirs in found:
            start, stop = regions.latest(start, ours), regions.earliest(stop, theirs)
        return start, stop

    def _displaced(self, ref: Ref, value: Displace) -> Span:
        """Return the range of the distances; without an end, that of the indices they lead to."""
        start, stop = self._known.get((value.by, value.dim), ENDLESS)
        first, last = self._known[value.arg, value.dim]
        if start is None and first is not None:
            far = self._distances(ref, value.dim)
            start = least(subtract(first, d) for d in far) if far else None
        if stop is None and last is not None:
            far = self._distances(ref, value.dim)
            stop = greatest(subtract(last, d) for d in far) if far else None
        return start, stop

    def _region(self, value: Region, dim: Dimension) -> Span:
        """Return the hull of the ranges of the branches, each on its own part."""
        outside = regions.without(regions.EVERYWHERE, value.boxes)
        spans = []
        for branch, boxes in ((value.then, value.boxes), (value.otherwise, outside)):
            start, stop = self._known.get((branch, dim), ENDLESS)
            for box in boxes:
                side = next((each for each in box if each.dim is dim), Side(dim, None, None))
                spans.append((regions.latest(start, side.start), regions.earliest(stop, side.stop)))
        start, stop = spans[0]
        for ours, theirs in spans[1:]:
            start = None if start is None or ours is None else minimum(start, ours)
            stop = None if stop is None or theirs is None else maximum(stop, theirs)
        return start, stop


def _endless(dim: Dimension, hint: str) -> DSLError:
    text = f"A displaced value has no known range of indices along '{dim.value}'."
    return DSLError(None, text, hints=(hint,))


_Distances: TypeAlias = tuple[Bound, ...] | None  # None says that only data know them

_MOST: Final = 64
_OPERATIONS: Final[dict[str, Callable[..., Bound]]] = {
    "add": bounds.add,
    "sub": bounds.subtract,
    "mul": bounds.multiply,
    "neg": lambda value: bounds.multiply(value, -1),
    "minimum": bounds.minimum,
    "maximum": bounds.maximum,
    "cast": lambda value: value,
}


def _distances_of(values: Sequence[Value], ref: Ref, dim: Dimension) -> _Distances:
    """Return what a row of integers may be along `dim` beyond the ends of all fields in it.

    A distance without an end is made of numbers, scalar parameters and regions of these. Beyond the
    last edge of its regions it is constant; which constant it is, the call decides.
    """
    done: dict[Ref, _Distances] = {}
    stack = [ref]
    while stack:
        missing = [each for each in values[stack[-1]].operands if each not in done]
        stack += missing
        if not missing:
            row = stack.pop()
            done[row] = _of(values[row], dim, done)
    return done[ref]


def _of(value: Value, dim: Dimension, done: dict[Ref, _Distances]) -> _Distances:
    match value:
        case Input() if dim in value.dims:  # ends by itself
            return ()
        case Index():  # whatever it leads to is clamped
            return ()
        case Literal():
            is_whole = value.dtype.startswith(("int", "uint"))
            return (Const(int(value.text)),) if is_whole else None
        case Scalar():
            return (ScalarSymbol(value.name),) if value.dtype.startswith(("int", "uint")) else None
        case Region():
            return _joined([done[value.then], done[value.otherwise]])
        case Map(op="select"):
            return _joined([done[each] for each in value.args[1:]])
        case Map():
            return _combined(_OPERATIONS.get(value.op), [done[each] for each in value.args])
        case Shift() | Displace():
            return done[value.arg]
    return None


def _joined(parts: Sequence[_Distances]) -> _Distances:
    found: dict[Bound, None] = {}
    for part in parts:
        if part is None:
            return None
        found |= dict.fromkeys(part)
    return tuple(found) if len(found) <= _MOST else None


def _combined(operation: Callable[..., Bound] | None, parts: Sequence[_Distances]) -> _Distances:
    if () in parts:
        return ()
    known = [part for part in parts if part is not None]
    if operation is None or len(known) < len(parts):
        return None
    return _joined([tuple(operation(*each) for each in product(*known))])
