"""Let a sweep over columns store its arrays in the place of those that it reads for the last time.

A sweep back over the levels, as the adjoint of a scan is one, reads what a sweep before it has
stored at each level, and stores as many arrays again. A row is read before another one takes its
place, so both arrays need the memory of one, and more columns have room in a cache.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....runtime.process import classes
from ....ir.loops import (
    Buffer,
    Load,
    Nest,
    Range,
    Seq,
    Store,
    arrays_of,
    difference,
    greatest,
    least,
)


def in_place(arrays: Sequence[Buffer], nests: Sequence[Nest]) -> list[Buffer]:
    """Return the arrays of nests that run one after the other, some of them over others.

    Two such arrays have the boxes of both. What a nest stores in the place of others it also reads:
    so it computes no point twice.
    """
    made = {each.name: each for each in arrays}
    for index, nest in enumerate(nests):
        stored, free = arrays_of(nest, Store), [each for each in made.values() if not each.over]
        kept = stored | arrays_of(Seq(tuple(nests[index + 1 :])))
        old = [each for each in free if each.name not in kept and _is_left(each, nest)]
        for new in (each for each in free if each.name in stored & arrays_of(nest, Load)):
            other = next((each for each in old if _fits(new, each, nests[:index])), None)
            if other is not None:
                old.remove(other)
                box = tuple(map(_hull, new.box, other.box))
                made[new.name] = classes.evolve(new, box=box, over=other.name)
                made[other.name] = classes.evolve(other, box=box)
    return list(made.values())


def _is_left(array: Buffer, nest: Nest) -> bool:
    """Tell whether a nest reads an array, and only where it stores now or later."""
    loads = [row for row in nest.body if isinstance(row, Load) and row.buffer == array.name]
    ways = {
        loop.range.dim: -1 if loop.backward else 1 for loop in nest.loops if loop.kind != "vector"
    }
    return bool(loads) and all(
        row is None and (offset == 0 or offset * ways.get(dim, 0) > 0)
        for load in loads
        for dim, row, offset in load.places
    )


def _fits(new: Buffer, old: Buffer, before: Sequence[Nest]) -> bool:
    """Tell whether two arrays are alike, and nests before touch the new one beyond the old one."""
    boxes = {range_.dim: range_ for range_ in old.box}
    alike = (new.dtype, new.dims, new.order) == (old.dtype, old.dims, old.order)
    return alike and all(
        any(_is_apart(loop.range, boxes.get(loop.range.dim, loop.range)) for loop in nest.loops)
        for nest in before
        if new.name in arrays_of(nest)
    )


def _is_apart(one: Range, other: Range) -> bool:
    gaps = difference(one.start, other.stop), difference(other.start, one.stop)
    return any(gap is not None and gap >= 0 for gap in gaps)


def _hull(one: Range, other: Range) -> Range:
    ends = least((one.start, other.start)), greatest((one.stop, other.stop))
    return Range(one.dim, *ends)
