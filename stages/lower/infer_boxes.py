"""Walk backwards from what is written to what every value, and every input, is needed on.

The box of a value is kept as *extents*: for each box that is written from it, how far
before the start and beyond the stop of that box it is needed, dimension by
dimension. That takes integers only, so the walk is linear; the symbolic hull of
all extents is made once for each value, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs

from ...runtime.dimension import Dimension
from ..artifacts import Lowered
from ..ir import bounds
from ..ir.bounds import Const, Range, Ranges
from ..ir.dataflow import Dataflow, Input, Read, Ref, Shift, Value
from .rewrite import reachable

Extent: TypeAlias = tuple[tuple[int, int], ...]  # (before the start, beyond the stop) of each dim
Need: TypeAlias = dict[int, Extent]  # by the number of the written box


def infer_boxes(program: Dataflow) -> Lowered:
    """Give every value the hull of the boxes on which it is needed, and list what is read."""
    totals: list[Need] = [{} for _ in program.values]
    reads: list[Read] = []
    hulls = Hulls()
    for index, statement in enumerate(program.statements):
        seeds = [(store.value, hulls.number(store.box)) for store in statement.stores]
        needs = extents(program.values, seeds)
        for ref, need in needs.items():
            widen(totals[ref], need)
        reads += _reads(program, index, needs, hulls)
    boxes = (hulls.of(value.dims, need) for value, need in zip(program.values, totals, strict=True))
    return Lowered(program, tuple(boxes), tuple(reads))


def extents(values: tuple[Value, ...], seeds: Sequence[tuple[Ref, int]]) -> dict[Ref, Need]:
    """Return how each value that the seeds are made from is needed around their boxes.

    A seed is the row that is written and the number of the box that it is written to.
    """
    needs: dict[Ref, Need] = {ref: {} for ref in reachable(values, (ref for ref, _ in seeds))}
    for ref, box in seeds:
        widen(needs[ref], {box: ((0, 0),) * len(values[ref].dims)})
    for ref in reversed(needs):
        value = values[ref]
        asked = _moved(value, needs[ref]) if isinstance(value, Shift) else needs[ref]
        for operand in value.operands:
            widen(needs[operand], _onto(values[operand].dims, value.dims, asked))
    return needs


def widen(need: Need, more: Need) -> None:
    """Grow `need` to the hull of both."""
    for box, extent in more.items():
        old = need.get(box)
        if old is None:
            need[box] = extent
        elif old != extent:
            need[box] = tuple(
                (min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(old, extent, strict=True)
            )


@attrs.frozen
class Hulls:
    """Turns extents to symbolic boxes, each different one once."""

    _boxes: list[Ranges] = attrs.field(factory=list)
    _numbers: dict[Ranges, int] = attrs.field(factory=dict)
    _made: dict[tuple[object, ...], Ranges] = attrs.field(factory=dict)

    def number(self, box: Ranges) -> int:
        """Return the number of a written box; equal boxes have the same."""
        number = self._numbers.setdefault(box, len(self._boxes))
        if number == len(self._boxes):
            self._boxes.append(box)
        return number

    def of(self, dims: tuple[Dimension, ...], need: Need) -> Ranges:
        """Return the smallest box around all extents; an empty one where nothing is needed."""
        if not dims:
            return ()
        key = (dims, *need.items())
        if key not in self._made:
            around = [(self._boxes[number], extent) for number, extent in need.items()]
            self._made[key] = tuple(_hull(dims, around))
        return self._made[key]


def _hull(dims: tuple[Dimension, ...], around: Sequence[tuple[Ranges, Extent]]) -> Iterator[Range]:
    for axis, dim in enumerate(dims):
        if not around:
            yield Range(dim, Const(0), Const(0))
            continue
        starts, stops = [], []
        for box, extent in around:
            written = next(each for each in box if each.dim is dim)
            before, beyond = extent[axis]
            starts.append(bounds.add(written.start, before))
            stops.append(bounds.add(written.stop, beyond))
        yield Range(dim, bounds.least(starts), bounds.greatest(stops))


def _reads(
    program: Dataflow, statement: int, needs: dict[Ref, Need], hulls: Hulls
) -> Iterator[Read]:
    found: dict[str, tuple[Value, Need]] = {}
    for ref, need in needs.items():
        value = program.values[ref]
        if isinstance(value, Input):
            found[value.name] = value, need
    for name, (value, need) in sorted(found.items()):
        pointwise = not any(any(ends) for extent in need.values() for ends in extent)
        yield Read(statement, name, hulls.of(value.dims, need), pointwise)


def _moved(value: Shift, need: Need) -> Need:
    axis, by = value.dims.index(value.dim), value.offset
    return {
        box: (
            *extent[:axis],
            (extent[axis][0] + by, extent[axis][1] + by),
            *extent[axis + 1 :],
        )
        for box, extent in need.items()
    }


def _onto(dims: tuple[Dimension, ...], given: tuple[Dimension, ...], need: Need) -> Need:
    """Return the extents along `dims` only."""
    if dims == given:
        return need
    axes = [given.index(dim) for dim in dims]
    return {box: tuple(extent[axis] for axis in axes) for box, extent in need.items()}
