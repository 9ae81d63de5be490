"""Unroll a nest over the points of one thread: what several points share is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TypeAlias

from .....runtime.language import Dimension
from .....runtime.process import classes
from ....ir.loops import (
    Access,
    Advance,
    Buffer,
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


def unrolled(
    nest: Nest, points: Points, buffers: Buffers, *, in_turn: bool = False
) -> tuple[Instruction, ...]:
    """Return one body for all points of a thread, the stores last.

    A thread has `points` along each loop, inner to outer, from the current indices on. Equal
    instructions stand once, so points share what they load from the same place, and what does not
    change among them. With `in_turn` each instruction stands for all points before the next one: so
    points are done with a load before the next, and few values wait for their use.
    """
    return _merged([(nest, shift) for shift in shifts(nest, points)], buffers, in_turn=in_turn)


def joined(nests: Sequence[Nest], buffers: Buffers) -> tuple[Instruction, ...]:
    """Return one body for nests with the same loops: equal instructions once, the stores last.

    What one nest stores and a later one loads at the same point stays in a register.
    """
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
    moved: dict[Row, tuple[Row, int]] = classes.field(factory=dict)  # indices as index and step
    filled: dict[tuple[str, tuple[int, ...]], Row] = classes.field(factory=dict)  # of arrays

    def add(self, row: Instruction, places: list[Row], shift: Shift) -> None:
        """Write the next instruction for one point; `places` are the rows of those before it."""
        if isinstance(row, Store):
            dims = self.buffers[row.buffer].dims
            store = self._located(row, dims, places, shift)
            assert isinstance(store, Store)
            self.stores.append(classes.evolve(store, value=places[row.value]))
            if self.buffers[row.buffer].memory != "field" and not store.operands[1:]:
                self.filled[row.buffer, store.offsets] = places[row.value]
            places.append(-1)  # nothing refers to a store
        else:
            places.append(self._written(row, places, shift))

    def _written(self, row: Instruction, places: list[Row], shift: Shift) -> Row:
        match row:
            case Index(dim=dim) if shift.get(dim):
                base = self._add(row)
                step = self._add(Constant(dtype=row.dtype, text=str(shift[dim])))
                place = self._add(
                    Compute(dtype=row.dtype, level=row.level, op="add", args=(base, step))
                )
                self.moved[place] = base, shift[dim]
                return place
            case Load():
                load = self._located(row, row.dims, places, shift)
                known = None if load.operands else self.filled.get((row.buffer, load.offsets))
                return self._add(load) if known is None else known
            case Advance():
                raise TypeError("The points of a thread cannot share the state of a scan.")
        return self._add(with_operands(row, places.__getitem__))

    def _located(
        self, access: Access, dims: Sequence[Dimension], places: list[Row], shift: Shift
    ) -> Access:
        """Return an access for one point; where the index of a loop moves, the offset does."""
        rows: list[Row | None] = []
        offsets: list[int] = []
        for dim, (row, offset) in zip(dims, access.coordinates(len(dims)), strict=True):
            place, step = (
                (None, shift.get(dim, 0))
                if row is None
                else self.moved.get(places[row], (places[row], 0))
            )
            rows.append(place)
            offsets.append(offset + step)
        return classes.evolve(
            access,
            rows=tuple(rows) if access.rows else (),
            offsets=tuple(offsets),
            when=None if access.when is None else places[access.when],
        )

    def _add(self, row: Instruction) -> Row:
        place = self.known.setdefault(row, len(self.rows))
        if place == len(self.rows):
            self.rows.append(row)
        return place
