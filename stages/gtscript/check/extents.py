"""Extents: how far around the domain each variable is needed along I and J.

A walk through the statements backwards: a statement is computed on the union of the extents of its
targets, and each read adds its offset. A region narrows both to the part that it meets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from ....runtime.process import classes
from ...ir.stencil import Assign, Block, End, Limits, Node
from ..levels import reads_below

Side: TypeAlias = tuple[int, int]  # the lowest index, and the highest beyond the last one
Extent: TypeAlias = tuple[Side, Side]
ZERO: Final[Extent] = ((0, 0), (0, 0))


@classes.frozen
class Extents:
    """The extent of each variable by number, and of each statement by block and number."""

    variables: dict[int, Extent]
    statements: dict[tuple[int, int], Extent]

    def meets(self, block: int, assign: Assign) -> bool:
        """Tell whether an assignment of a block has points, for some domain."""
        return meets(assign.region, self.statements[block, assign.statement])


def extents_of(nodes: Sequence[Node], blocks: Sequence[Block]) -> Extents:
    """Return the extents of a stencil."""
    found = Extents({}, {})
    for number in range(len(blocks) - 1, -1, -1):
        for statement, assigns in reversed(list(_statements(blocks[number]))):
            around = ZERO
            for each in assigns:
                around = _union(around, found.variables.get(each.variable, ZERO))
            found.statements[number, statement] = around
            for variable, extent in _accesses(nodes, assigns, around):
                old = found.variables.get(variable)
                found.variables[variable] = extent if old is None else _union(old, extent)
    return found


def meets(region: Limits | None, around: Extent) -> bool:
    """Tell whether a region has points in an extent of the domain, for some domain."""
    if region is None:
        return True
    i, j = around
    return _overlaps(region.i, i) and _overlaps(region.j, j)


def _statements(block: Block) -> Iterator[tuple[int, list[Assign]]]:
    for statement, assigns in groupby(block.body, lambda each: each.statement):
        yield statement, list(assigns)


def _accesses(
    nodes: Sequence[Node], assigns: Sequence[Assign], around: Extent
) -> Iterator[tuple[int, Extent]]:
    for each in assigns:
        if not meets(each.region, around):
            continue
        yield each.variable, _reached(each.region, around, (0, 0))
        for read in reads_below(nodes, each.roots):
            yield read.variable, _reached(each.region, around, read.offset[:2])


def _reached(region: Limits | None, around: Extent, offset: tuple[int, ...]) -> Extent:
    if region is None:
        (i, j) = ((low + by, high + by) for (low, high), by in zip(around, offset, strict=True))
        return i, j
    i, j = (
        _within(limits, side, by)
        for limits, side, by in zip((region.i, region.j), around, offset, strict=True)
    )
    return i, j


def _within(limits: tuple[End | None, End | None], side: Side, by: int) -> Side:
    """Return what a part of an extent reads, and the domain itself."""
    start, stop = limits
    low, high = side
    if start is not None:
        low = -by if start.of_end else max(low, start.offset)
    if stop is not None:
        high = min(high, stop.offset) if stop.of_end else -by
    return min(low + by, 0), max(high + by, 0)


def _overlaps(limits: tuple[End | None, End | None], side: Side) -> bool:
    start, stop = limits
    low, high = side
    begins_before = start is None or (not start.of_end and low > start.offset)
    if begins_before and stop is not None and not stop.of_end:
        return stop.offset > low
    ends_after = stop is None or (stop.of_end and high < stop.offset)
    if ends_after and start is not None and start.of_end:
        return start.offset <= high
    return True


def _union(one: Extent, other: Extent) -> Extent:
    i, j = ((min(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))
    return i, j
