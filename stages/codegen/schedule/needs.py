"""Needs: the indices at which a nest evaluates a node, computed backwards through its operands.

A placement has them for each nest, besides the arrays and scans on which it decides.

A need is a box, represented as a base and integers around it as long as possible. Where a region
may be empty, an empty box becomes a box that changes no hull: it begins far after its end. Along a
dimension where loads clamp their indices, the need is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from ....runtime.language import Dimension, DimensionKind
from ....runtime.process import CodegenError, classes
from ...ir import bounds, dataflow
from ...ir.bounds import Bound, Const, Range, Ranges
from ...ir.column_rows import Column
from ...ir.gates import FAR, far_unless, is_gated, ungated
from ...ir.settled import opened, settled
from ...lower.regions import EVERYWHERE, Box, Boxes, is_empty, met
from .places import FIXED, OWN, Coord, Entries, Entry, Level, Point
from .points import Points


@classes.frozen
class Span:
    """The indices from `before` after `start` to `beyond` after `stop`."""

    start: Bound
    stop: Bound
    before: int = 0
    beyond: int = 0
    gated: bool = False  # may be empty, and then begins far after its end

    def range(self, dim: Dimension) -> Range:
        """Return the symbolic range."""
        return Range(dim, bounds.add(self.start, self.before), bounds.add(self.stop, self.beyond))

    def opened(self) -> Span:
        """Return the same indices, with the bounds that were settled: hulls then name each once."""
        return classes.evolve(self, start=opened(self.start), stop=opened(self.stop))

    def moved(self, offset: int) -> Span:
        """Return the indices `offset` further."""
        if not offset:
            return self
        return classes.evolve(self, before=self.before + offset, beyond=self.beyond + offset)


Need: TypeAlias = Mapping[Dimension, Span | None]  # of the dimensions of a node
MOST_PIECES: Final = 16


def need_of(box: Ranges) -> Need:
    """Return the need of a box."""
    return {range_.dim: Span(range_.start, range_.stop) for range_ in box}


def box_of(need: Need, dims: Iterable[Dimension]) -> Ranges:
    """Return the box of a need that has no open dimension."""
    ranges = []
    for dim in dims:
        span = need[dim]
        assert span is not None
        ranges.append(span.range(dim))
    return tuple(ranges)


def joined(left: Need | None, right: Need) -> Need:
    """Return the smallest need around two."""
    return right if left is None or left is right else around((left, right))


def around(needs: Sequence[Need]) -> Need:
    """Return the smallest need around one or more needs, in linear time."""
    first, *others = needs
    return {
        dim: span
        if all(need[dim] is span for need in others)
        else _around(tuple(need[dim] for need in needs))
        for dim, span in first.items()
    }


@lru_cache(maxsize=4096)  # plans of a program have most needs in common
def _around(spans: tuple[Span | None, ...]) -> Span | None:
    by_base: dict[tuple[Bound, Bound], Span] = {}
    for span in spans:
        if span is None:
            return None
        base = span.start, span.stop
        old = by_base.setdefault(base, span)
        before, beyond = min(old.before, span.before), max(old.beyond, span.beyond)
        if (before, beyond) != (old.before, old.beyond):
            by_base[base] = classes.evolve(old, before=before, beyond=beyond)
    there = [span for (start, _), span in by_base.items() if start != _NOTHING.start]
    if len(there) < 2:
        return there[0] if there else _NOTHING
    boxes = [span.opened().range(_ANY) for span in there]
    kept = list(range(len(there)))
    for n, span in enumerate(there):
        if span.gated and _is_part(boxes[n], [boxes[other] for other in kept if other != n]):
            kept.remove(n)
    if len(kept) == 1:
        return there[kept[0]]
    (whole,) = bounds.hull([(boxes[n],) for n in kept])
    return _settled_span(whole.start, whole.stop, any(there[n].gated for n in kept))


def _is_part(own: Range, others: Iterable[Range]) -> bool:
    """Tell whether a range is known to be a part of another one, or empty."""
    start, stop = ungated(own.start), ungated(own.stop)
    return (start, stop) != (own.start, own.stop) and any(
        (bounds.is_at_least(start, each.start) or is_gated(each.start, own.start))
        and (bounds.is_at_least(each.stop, stop) or is_gated(own.stop, each.stop))
        for each in others
    )


def _settled_span(start: Bound, stop: Bound, gated: bool) -> Span:
    return Span(settled(start), settled(stop), gated=gated)


_ANY: Final = Dimension("any")
_NOTHING: Final = Span(Const(FAR), Const(-FAR), gated=True)


def need_at(points: Points, point: Point, need: Need) -> Need:
    """Return the need of a point's node, given the need of the point."""
    index, coords = point
    return {
        dim: _along(points, dim, coord, need)
        for dim, coord in zip(points.nodes[index].dims, coords, strict=True)
    }


def _along(points: Points, dim: Dimension, coord: Coord, need: Need) -> Span | None:
    dim, (base, offset) = points.indices.plain(dim, coord)
    if base == OWN:
        span = need[dim]
        return span.moved(offset) if span is not None else None
    if base == FIXED:
        return Span(Const(offset), Const(offset + 1))
    index = points.indices[base]
    if isinstance(index, Level):
        return Span(index.at, bounds.add(index.at, 1)).moved(offset)
    if not isinstance(index, Entry):  # moved by a value
        return None
    entries = points.nodes[index.point[0]].value
    assert isinstance(entries, Entries)
    rows = _along(points, entries.dims[0], index.point[1][0], need)
    if rows is None:
        return None
    slot_base, slot = index.point[1][1]
    slots = (slot,) if slot_base == FIXED and entries.width > 1 else ()
    return _entries_in(entries, rows, slots).moved(offset)


def _entries_in(entries: Entries, rows: Span, slots: tuple[int, ...]) -> Span:
    range_ = rows.range(entries.dims[0])
    start, stop = bounds.table_range(entries.table, range_.start, range_.stop, slots)
    if not (rows.gated or entries.skip):
        return Span(start, stop)
    far = far_unless([(start, stop)])
    return _settled_span(bounds.add(start, far), bounds.subtract(stop, far), True)


# --- regions ------------------------------------------------------------------------------------


def inside(need: Need, boxes: Boxes) -> Need:
    """Return the part of a need in any of the boxes."""
    return _inside(tuple(need.items()), boxes)


@lru_cache(maxsize=1024)
def _inside(need: tuple[tuple[Dimension, Span | None], ...], boxes: Boxes) -> Need:
    found: Need = {dim: span and _NOTHING for dim, span in need}
    for box in boxes:
        part = _cut(dict(need), box)
        if part is not None:
            found = joined(found, part)
    return found


def gated_like(need: Need, other: Need) -> Need:
    """Return `need`, made empty where a region makes `other` empty."""
    ends = [span.range(dim) for dim, span in other.items() if span is not None and span.gated]
    return _gated(need, [(ends[0].start, ends[0].stop)]) if ends else need


def gated_by(need: Need, box: Ranges) -> Need:
    """Return `need`, made empty where a box is empty."""
    return _gated(need, [(range_.start, range_.stop) for range_ in box])


# A box that is surely empty is no part; where only the call knows, the part is gated.
def _cut(need: Need, box: Sequence[dataflow.Side]) -> Need | None:
    cut: dict[Dimension, Span | None] = dict(need)
    unsure: list[tuple[Bound, Bound]] = []
    for side in box:
        span = cut.get(side.dim)
        if span is None:
            continue
        range_ = span.range(side.dim)
        start = range_.start if side.start is None else bounds.maximum(range_.start, side.start)
        stop = range_.stop if side.stop is None else bounds.minimum(range_.stop, side.stop)
        if (start, stop) == (range_.start, range_.stop):
            continue
        count = bounds.difference(stop, start)
        if count is not None and count <= 0:
            return None
        if count is None:
            unsure.append((start, stop))
        cut[side.dim] = _settled_span(start, stop, span.gated)
    return _gated(cut, unsure) if unsure else cut


def _gated(need: Need, unsure: Sequence[tuple[Bound, Bound]]) -> Need:
    far = far_unless(unsure)
    gated: dict[Dimension, Span | None] = dict(need)
    for dim, span in need.items():
        if span is not None and dim.kind is not DimensionKind.LOCAL:
            range_ = span.range(dim)
            start, stop = bounds.add(range_.start, far), bounds.subtract(range_.stop, far)
            gated[dim] = _settled_span(start, stop, True)
    return gated


@lru_cache(maxsize=256)
def outside_of(boxes: Boxes) -> Boxes | None:
    """Return disjoint boxes that cover the rest of `boxes`; None if that takes too many.

    >>> K = Dimension("K")
    >>> (below,), (above,) = outside_of(((dataflow.Side(K, Const(2), Const(5)),),))
    >>> below.start, below.stop, above.start, above.stop
    (None, Const(value=2), Const(value=5), None)
    """
    pieces = EVERYWHERE
    for box in boxes:
        pieces = tuple(rest for piece in pieces for rest in _without(piece, box))
        if len(pieces) > MOST_PIECES:
            return None
    return pieces


def _without(piece: Box, hole: Box) -> Boxes:
    whole, rest = piece, []
    for side in hole:
        for start, stop in ((None, side.start), (side.stop, None)):
            part = met(piece, (dataflow.Side(side.dim, start, stop),))
            if (start, stop) != (None, None) and not is_empty(part):
                rest.append(part)
        piece = met(piece, (side,))
        if is_empty(piece):
            return (whole,)
    return tuple(rest)


def scan_need(value: dataflow.Scan | Column, need: Need) -> Need:
    """Return all levels of a scan or column where columns are needed, maybe none."""
    own = value.whole if isinstance(value, Column) else value
    levels = Span(own.start, own.stop)
    whole: Need = {dim: levels if dim is value.axis else need[dim] for dim in value.dims}
    if any(span is None for span in whole.values()):
        raise CodegenError(
            "The result of a scan is read at a horizontal offset that a field gives; that is not "
            "supported.",
            hint="Write the result of the scan to a field, and read that in another statement.",
        )
    return whole


@classes.frozen
class Array:
    """A node that becomes an array over a box."""

    node: int
    box: Ranges
    reason: str


@classes.frozen
class Walk:
    """A scan, its box, and the roots that it stores itself: numbers of a group and in it.

    With `fused`, these are all roots of a group, computed from the results of the scan level by
    level.
    """

    node: int
    box: Ranges
    stores: tuple[tuple[int, int], ...]
    fused: bool = False

    @property
    def nest(self) -> int:
        """Its name for placement, with `fused` that of the stores: what both need is one use."""
        return stores(self.stores[0][0]) if self.fused else self.node


@classes.frozen
class Placement:
    """The nodes that become arrays and the scans, both ascending; notes on the other nodes.

    `needs[nest][node]` are the indices at which a nest needs a node. The name of a nest is the node
    that it computes, the first one in `nests` of those that it fills together, or that of the
    `stores` of a group. `groups` are those that need a nest. One `within` a group does nothing
    where the box of that group is empty; the box of any other nest then is empty by itself. `cost`
    counts operations, loads and arrays, each for one point.
    """

    arrays: tuple[Array, ...]
    walks: tuple[Walk, ...]
    notes: tuple[str, ...]
    needs: Mapping[int, Mapping[int, Need]]
    groups: Mapping[int, frozenset[int]]
    within: Mapping[int, int]
    nests: Mapping[int, int]
    cost: float


def stores(group: int) -> int:
    """Return the name of the nest that stores the roots of a group."""
    return ~group
