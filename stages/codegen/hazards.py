"""Reads before writes: what cannot be stored in place, and what may share memory with outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..ir.bounds import Ranges, difference
from ..ir.loops import Load, Nest, Store


def fields_to_stage(nest: Nest, later: Sequence[Nest]) -> frozenset[str]:
    """Return the fields that `nest` may not store before the rest of its statement has read them.

    It reads one at another point than it writes, or a later nest reads it where it is written.
    """
    written = {row.buffer for row in nest.body if isinstance(row, Store)}
    written = {name for name in written if not name.startswith("@")}  # arrays are written once
    risky = {load.buffer for load in loads(nest) if load.buffer in written and not load.is_here}
    for other in later if written else ():
        for reading in other.reads:
            if reading.buffer in written and not are_disjoint(reading.box, nest.box):
                risky.add(reading.buffer)
    return frozenset(risky)


def is_pointwise(
    name: str, nests: Sequence[Nest], outputs: Iterable[str], earlier: Iterable[Ranges]
) -> bool:
    """Tell whether field `name` may lie in the memory of an output of its statement.

    `nests` are those of one group of stores and `outputs` the fields that the statement writes,
    to the boxes `earlier` by nests before these. What nests read that only fill arrays
    is not overwritten yet, unless a nest before them has stored.
    """
    targets, boxes = frozenset(outputs), list(earlier)
    for nest in nests:
        stores = any(isinstance(row, Store) and row.buffer in targets for row in nest.body)
        if stores and any(load.buffer == name and not load.is_here for load in loads(nest)):
            return False
        own = [reading.box for reading in nest.reads if reading.buffer == name]
        if not all(are_disjoint(read, box) for read in own for box in boxes):
            return False
        if stores:
            boxes.append(nest.box)
    return True


def loads(nest: Nest) -> Iterator[Load]:
    """Yield the loads of a nest."""
    return (row for row in nest.body if isinstance(row, Load))


def are_disjoint(left: Ranges, right: Ranges) -> bool:
    """Tell whether two boxes are known to have no point in common."""
    others = {range_.dim: range_ for range_ in right}
    for range_ in left:
        other = others.get(range_.dim)
        if other is not None:
            gaps = (difference(range_.stop, other.start), difference(other.stop, range_.start))
            if any(gap is not None and gap <= 0 for gap in gaps):
                return True
    return False
