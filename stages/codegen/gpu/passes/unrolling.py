"""Unroll a nest over the points of one thread: what several points share is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import attrs

from .....runtime.language.dimension import Dimension
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
DimsOf: TypeAlias = Mapping[str, tuple[Dimension, ...]]
Points: TypeAlias = tuple[int, ...]


def unrolled(nest: Nest, points: Points, dims_of: DimsOf) -> tuple[Instruction, ...]:
    """Return one body for all points of a thread, the stores last; `dims_of` are those of buffers.

    A thread has `points` along each loop, inner to outer, from the current indices on. Equal
    instructions stand once, so points share what they load from the same place, and what does not
    change among them.
    """
    bodies = _Unrolling(nest, dims_of)
    for shift in shifts(nest, points):
        bodies.add(shift)
    return bodies.finished()


def interleaved(nest: Nest, points: Points, dims_of: DimsOf) -> tuple[Instruction, ...]:
    """Return one body for all points of a thread, each instruction for all of them at a time.

    So points are done with a load before the next one: few values wait for their use.
    """
    bodies = _Unrolling(nest, dims_of)
    every = [(shift, list[Row]()) for shift in shifts(nest, points)]
    for row in nest.body:
        for shift, places in every:
            bodies.add_row(row, places, shift)
    return bodies.finished()


def joined(nests: Sequence[Nest], dims_of: DimsOf) -> tuple[Instruction, ...]:
    """Return one body for nests with the same loops: equal instructions once, the stores last."""
    bodies = _Unrolling(nests[0], dims_of)
    for nest in nests:
        bodies.nest = nest
        bodies.add({})
    return bodies.finished()


def shifts(nest: Nest, points: Points) -> Iterator[Shift]:
    """Yield the offset of each point of a thread, the innermost dimension fastest."""
    dims = [range_.dim for range_ in reversed(nest.box)][: len(points)]
    for offsets in product(*map(range, reversed(points))):
        yield dict(zip(dims, reversed(offsets), strict=True))


class _Unrolling:
    def __init__(self, nest: Nest, dims_of: DimsOf) -> None:
        self.nest = nest
        self.dims_of = dims_of
        self.rows: list[Instruction] = []
        self.known: dict[Instruction, Row] = {}
        self.stores: list[Instruction] = []

    def add(self, shift: Shift) -> None:
        """Write the body for one point."""
        places: list[Row] = []
        for row in self.nest.body:
            self.add_row(row, places, shift)

    def add_row(self, row: Instruction, places: list[Row], shift: Shift) -> None:
        """Write the next instruction for one point; `places` are the rows of those before it."""
        if isinstance(row, Store):
            dims = self.dims_of[row.buffer]
            offsets = row.offsets or (0,) * len(dims)
            moved = tuple(o + shift.get(d, 0) for d, o in zip(dims, offsets, strict=True))
            store = attrs.evolve(row, offsets=moved)
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
            case Load(rows=rows):
                named = rows or (None,) * len(row.dims)
                offsets = tuple(
                    offset if place is not None else offset + shift.get(dim, 0)
                    for dim, place, offset in zip(row.dims, named, row.offsets, strict=True)
                )
                row = attrs.evolve(row, offsets=offsets)
            case Advance():
                raise TypeError("The points of a thread cannot share the state of a scan.")
        return self._add(with_operands(row, places.__getitem__))

    def _add(self, row: Instruction) -> Row:
        place = self.known.setdefault(row, len(self.rows))
        if place == len(self.rows):
            self.rows.append(row)
        return place

    def finished(self) -> tuple[Instruction, ...]:
        """Return all instructions, operands first."""
        return (*self.rows, *self.stores)
