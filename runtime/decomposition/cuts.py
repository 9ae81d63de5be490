"""Cut the boxes of statements into what may run while a halo travels and what runs after it.

The first half of the work takes the inner box of each statement in turn, the second half the outer
boxes of each statement in turn. `cut` finds the largest inner boxes for which this order gives the
results of the statements one after the other: an inner box touches nothing that is written in the
second half, and writes nothing that is read there.

A box maps dimensions to half-open ranges; along other dimensions it has all points.

>>> from ..language.dimension import Dimension
>>> I = Dimension("I")
>>> wide = Touch("u", lambda box: {I: (box[I][0] - 1, box[I][1] + 1)})
>>> smooth = Step({I: (0, 8)}, reads=[wide], writes=[Touch("v", dict)])
>>> (cuts,) = cut([smooth], {"u": outside({I: (0, 8)})})
>>> cuts.inner[I], [box[I] for box in cuts.outer]
((1, 7), [(0, 1), (7, 8)])
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ..language import Dimension
from ..process import classes

Range: TypeAlias = tuple[int, int]
Box: TypeAlias = Mapping[Dimension, Range]
Boxes: TypeAlias = Mapping[str, Sequence[Box]]  # by the name of a field

ENDLESS: Final = 1 << 60  # beyond every index


@classes.frozen(eq=False)
class Touch:
    """The points of a field that a statement reads or writes, given the box that it computes.

    A larger box must not touch less.
    """

    field: str
    on: Callable[[Box], Box]


@classes.frozen(eq=False)
class Step:
    """A statement on a box.

    Attributes:
        box: what it computes, along the dimensions that may be cut; without any it stays whole.
        reads: what it reads.
        writes: what it writes.
        leading: dimensions whose first points stay in the inner box. On a mesh the halo comes last.

    """

    box: Box
    reads: Sequence[Touch]
    writes: Sequence[Touch]
    leading: Collection[Dimension] = ()


@classes.frozen(eq=False)
class Cut:
    """The inner box of a statement and the boxes around it; some may be empty.

    There are two outer boxes for each dimension, one for a leading dimension. A statement that
    stays whole has no inner box.
    """

    inner: Box | None
    outer: tuple[Box, ...]


def outside(box: Box) -> list[Box]:
    """Return boxes that cover all points outside of a box."""
    sides: list[Box] = []
    for dim, (start, stop) in box.items():
        sides += [{dim: (-ENDLESS, start)}, {dim: (stop, ENDLESS)}]
    return sides


def cut(steps: Iterable[Step], late: Boxes) -> tuple[Cut, ...]:
    """Return how each statement is cut; `late` is what arrives between both halves, by field."""
    unready: dict[str, list[Box]] = defaultdict(list)  # written in the second half
    awaited: dict[str, list[Box]] = defaultdict(list)  # read in the second half
    for name, boxes in late.items():
        unready[name] += boxes
    cuts = []
    for step in steps:
        made = _cut(step, unready, awaited)
        outer = [each for each in made.outer if not is_empty(each)]
        for touches, known in ((step.writes, unready), (step.reads, awaited)):
            for touch in touches:
                known[touch.field] += [touch.on(each) for each in outer]
        cuts.append(made)
    return tuple(cuts)


def is_empty(box: Box) -> bool:
    """Tell whether a box has no points."""
    return any(start >= stop for start, stop in box.values())


def _cut(step: Step, unready: Boxes, awaited: Boxes) -> Cut:
    if not step.box:
        return Cut(None, (step.box,))
    inner = step.box
    for touch in step.writes:
        for box in (*unready.get(touch.field, ()), *awaited.get(touch.field, ())):
            inner = _avoiding(box, inner, touch, step.leading)
    for touch in step.reads:
        for box in unready.get(touch.field, ()):
            inner = _avoiding(box, inner, touch, step.leading)
    if is_empty(inner) or _interfere(step, [inner, *_around(step, inner)]):
        inner = _nothing(step.box)
    return Cut(inner, _around(step, inner))


def _avoiding(other: Box, box: Box, touch: Touch, leading: Collection[Dimension]) -> Box:
    """Return the largest part of a box that touches no point of another; cut along one side."""

    def fits(part: Box) -> bool:
        return is_empty(part) or not _meet(touch.on(part), other)

    if fits(box):
        return box
    parts = (part for dim in box for part in _cut_along(dim, box, fits, dim in leading))
    return max([_nothing(box), *parts], key=_size)


def _cut_along(
    dim: Dimension, box: Box, fits: Callable[[Box], bool], is_leading: bool
) -> Iterator[Box]:
    """Yield the largest parts that fit and have the first points, or the last ones."""
    start, stop = box[dim]
    low, high = start, stop  # the first points up to `low` fit, those up to `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits({**box, dim: (start, middle)}) else (low, middle)
    yield {**box, dim: (start, low)}
    low, high = start, stop  # the last points from `high` on fit, those from `low` on do not
    while high - low > 1 and not is_leading:
        middle = (low + high) // 2
        low, high = (low, middle) if fits({**box, dim: (middle, stop)}) else (middle, high)
    if not is_leading:
        yield {**box, dim: (high, stop)}


def _around(step: Step, inner: Box) -> tuple[Box, ...]:
    """Return disjoint boxes that cover a box without the inner one."""
    found: list[Box] = []
    rest = dict(step.box)
    for dim, (start, stop) in step.box.items():
        first, last = inner[dim]
        if dim not in step.leading:
            found.append({**rest, dim: (start, first)})
        found.append({**rest, dim: (last, stop)})
        rest[dim] = (first, last)
    return tuple(found)


def _interfere(step: Step, parts: Sequence[Box]) -> bool:
    """Tell whether a part of a statement writes what another part of it still has to read."""
    kept = [part for part in parts if not is_empty(part)]
    return any(
        read.field == write.field and one is not other and _meet(write.on(one), read.on(other))
        for write in step.writes
        for read in step.reads
        for one in kept
        for other in kept
    )


def _nothing(box: Box) -> Box:
    """Return the empty box at the start of the first dimension."""
    dim, (start, _) = next(iter(box.items()))
    return {**box, dim: (start, start)}


def _meet(left: Box, right: Box) -> bool:
    """Tell whether two boxes share a point."""
    common = (dim for dim in left if dim in right)
    return all(
        max(left[dim][0], right[dim][0]) < min(left[dim][1], right[dim][1]) for dim in common
    )


def _size(box: Box) -> int:
    return math.prod(max(stop - start, 0) for start, stop in box.values())
