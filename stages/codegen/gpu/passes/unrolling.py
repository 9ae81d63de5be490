"""Unroll a nest over the points of one thread: what several points share is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TypeAlias

from .....runtime.language.dimension import Dimension
from .....runtime.process import classes
from ....ir.loops.buffers import Buffer
from ....ir.loops.nest import (
    Advance,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Nest,
    Row,
    Store,
    with_operands,
)

Shift: TypeAlias = Mapping[Dimension, int]
Buffers: TypeAlias = Mapping[str, Buffer]
Points: TypeAlias = tuple[int, ...]


def unrolled(nest: Nest, points: Points, buffers: Buffers) -> tuple[Instruction, ...]:
    """Return one body for all points of a thread, the stores last.

    A thread has `points` along each loop, inner to outer, from the current indices on. Equal
    instructions stand once, so points share what they load from the same place, and what does not
    change among them.
    """
    return _merged([(nest, shift) for shift in shifts(nest, points)], buffers)


def interleaved(nest: Nest, points: Points, buffers: Buffers) -> tuple[Instruction, ...]:
    """Return one body for all points of a thread, each instruction for all of them at a time.

    So points are done with a load before the next one: few values wait for their use.
    """
    return _merged([(nest, shift) for shift in shifts(nest, points)], buffers, in_turn=True)


def joined(nests: Sequence[Nest], buffers: Buffers) -> tuple[Instruction, ...]:
    """Return one body for nests with the same loops: equal instructions once, the stores last."""
    return _merged([(nest, {}) for nest in nests], buffers)


def shifts(nest: Nest, points: Points) -> Iterator[Shift]:
    """Yield the offset of each point of a thread, the innermost dimension fastest."""
    dims = [range_.dim for range_ in reversed(nest.box)][: len(points)]
    for offsets in product(*map(range, reversed(points))):
        yield dict(zip(dims, reversed(offsets), strict=True))


def _merged(
    copies: Sequence[tuple[Nest, Shift]], buffers: Buffers, *, in_turn: bool = False
) -> tuple[Instruction, ...]:
    """Return one body for copies of bodies, one after the other or row by row `in_turn`."""
    made = _Unrolling(buffers)
    rows = []
    for nest, shift in copies:
        places: list[Row] = []
        rows.append([(row, places, shift) for row in nest.body])
    for each in chain(*(zip(*rows, strict=True) if in_turn else rows)):
        made.add(*each)
    return (*made.rows, *made.stores)


@classes.frozen
class _Unrolling:
    buffers: Buffers
    rows: list[Instruction] = classes.field(factory=list)
    known: dict[Instruction, Row] = classes.field(factory=dict)
    stores: list[Instruction] = classes.field(factory=list)

    def add(self, row: Instruction, places: list[Row], shift: Shift) -> None:
        """Write the next instruction for one point; `places` are the rows of those before it."""
        if isinstance(row, Store):
            dims = self.buffers[row.buffer].dims
            offsets = row.offsets or (0,) * len(dims)
            moved = tuple(o + shift.get(d, 0) for d, o in zip(dims, offsets, strict=True))
            store = classes.evolve(row, offsets=moved)
            self.stores.append(with_operands(store, places.__getitem__))
            places.append(-1)  # nothing refers to a store
        else:
            places.append(self._written(row, places, shift))

    def _written(self, row: Instruction, places: list[Row], shift: Shift) -> Row:
        match row:
            case Index(dim=dim) if shift.get(dim):
                base = self._add(row)
                step = self._add(Constant(dtype=row.dtype, text=str(shift[dim])))
                return self._add(
                    Compute(dtype=row.dtype, level=row.level, op="add", args=(base, step))
                )
            case Load():
                offsets = tuple(
                    offset if index is not None else offset + shift.get(own, 0)
                    for own, index, offset in row.places
                )
                row = classes.evolve(row, offsets=offsets)
            case Advance():
                raise TypeError("The points of a thread cannot share the state of a scan.")
        return self._add(with_operands(row, places.__getitem__))

    def _add(self, row: Instruction) -> Row:
        place = self.known.setdefault(row, len(self.rows))
        if place == len(self.rows):
            self.rows.append(row)
        return place
