"""Reads before writes: what cannot be stored in place, and what may share memory with outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..ir.bounds import Range, Ranges, add, difference
from ..ir.loops import Load, Nest, Store


def fields_to_stage(final: Nest, later: Sequence[Nest]) -> frozenset[str]:
    """Return the fields that `final` may not store before the rest of its statement has read them.

    It reads one at another point than it writes, or a later nest reads it where it is written.
    """
    risky: set[str] = set()
    written = {store.buffer for store in final.body if isinstance(store, Store)}
    for load in loads(final):
        if load.buffer in written and any(load.offsets):
            risky.add(load.buffer)
    for nest in later:
        for load in loads(nest):
            if load.buffer in written and not are_disjoint(read_box(nest, load), final.box):
                risky.add(load.buffer)
    return frozenset(risky)


def is_pointwise(
    name: str, nests: Sequence[Nest], outputs: Iterable[str], earlier: Iterable[Ranges]
) -> bool:
    """Tell whether field `name` may lie in the memory of an output of its statement.

    `nests` are those of one group of stores and `outputs` the fields that the statement writes,
    to the boxes `earlier` by nests before these. What nests read that only fill arrays
    is not overwritten yet.
    """
    targets, boxes = frozenset(outputs), list(earlier)
    for nest in nests:
        stores = any(isinstance(row, Store) and row.buffer in targets for row in nest.body)
        for load in loads(nest):
            if load.buffer == name:
                if stores and any(load.offsets):
                    return False
                if not all(are_disjoint(read_box(nest, load), box) for box in boxes):
                    return False
    return True


def loads(nest: Nest) -> Iterator[Load]:
    """Yield the loads of a nest."""
    return (row for row in nest.body if isinstance(row, Load))


def read_box(nest: Nest, load: Load) -> Ranges:
    """Return the indices that a load touches, in the order of the loops that it depends on."""
    ranges = {loop.range.dim: loop.range for loop in nest.loops}
    return tuple(
        Range(dim, add(ranges[dim].start, offset), add(ranges[dim].stop, offset))
        for dim, offset in zip(load.dims, load.offsets, strict=True)
    )


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
