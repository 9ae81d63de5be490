"""Split the store of a region into a store for each part, so that loops test no index.

    out[K: 0 .. n] = region [K: .. 1] a b

becomes a store of `a` on the first level and a store of `b` on the others. Each part knows the
whole box, because outputs that share memory must have equal ones. Regions deeper in a value stay,
and so do all regions of a value that would take more than `MOST_PARTS` stores, such as four walls
one inside the other; `codegen` splits its loops for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from ...runtime.process import classes
from ..ir import bounds
from ..ir.dataflow import Dataflow, Range, Ranges, Region, Side, Statement, Store
from . import regions
from .regions import Box

MOST_PARTS: Final = 8


def split_regions(program: Dataflow, whole: Collection[str] = ()) -> Dataflow:
    """Store the branches of regions on boxes of their own, but for the outputs in `whole`."""

    def parts(store: Store) -> list[Store]:
        return [store] if store.target in whole else _parts(program, store)

    statements = tuple(
        Statement(tuple(part for store in each.stores for part in parts(store)))
        for each in program.statements
    )
    return classes.evolve(program, statements=statements)


def _parts(program: Dataflow, store: Store) -> list[Store]:
    """Return the stores of the parts of a region, or the store itself if there were too many."""
    done: list[Store] = []
    left = [store]
    while left:
        part = left.pop()
        value = program.values[part.value]
        split = list(_split(part, value)) if isinstance(value, Region) else []
        if not split:
            done.append(part)
        elif len(done) + len(left) + len(split) > MOST_PARTS:
            return [store]
        else:
            left += reversed(split)
    return done


def _split(store: Store, value: Region) -> Iterator[Store]:
    outside = regions.without(regions.EVERYWHERE, value.boxes)
    for ref, boxes in ((value.then, value.boxes), (value.otherwise, outside)):
        for box in boxes:
            inside = within(store.box, box)
            if inside is not None:
                yield classes.evolve(store, box=inside, value=ref, whole=store.output.box)


def within(whole: Ranges, box: Box) -> Ranges | None:
    """Return the intersection of a stored box with a region's box; None if it is surely empty."""
    sides = {side.dim: side for side in box}
    ranges = []
    for each in whole:
        side = sides.get(each.dim, Side(each.dim, None, None))
        start = each.start if side.start is None else bounds.maximum(each.start, side.start)
        stop = each.stop if side.stop is None else bounds.minimum(each.stop, side.stop)
        if bounds.is_empty(start, stop):
            return None
        ranges.append(Range(each.dim, start, stop))
    return tuple(ranges)
