"""Values that a nest on a mesh computes of one neighbour: the same for all that have it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Argument,
    Buffer,
    Compute,
    Constant,
    Instruction,
    Load,
    Nest,
    Number,
    Row,
    Store,
    reached,
    with_operands,
)
from .ways import Way, way_of

Key: TypeAlias = object
LEAST = 2  # loads that one load of an array replaces


@classes.frozen
class Handed:
    """A value of each neighbour: its rows, and for each the row that is the neighbour's index."""

    dtype: str
    loads: int
    rows: tuple[tuple[Row, Row], ...]


def handed(
    nest: Nest, arrays: Mapping[str, object], slots: Sequence[Way], shared: Container[str]
) -> list[Handed]:
    """Return the largest values that a nest computes from several loads at each of some neighbours.

    `slots` are the ways to these neighbours, by which the nest reads `arrays`. Loads of `shared`
    arrays are none of them.
    """
    found: list[dict[Key, Row]] = []
    indices = []
    for way in slots:
        load = next(
            row
            for row in nest.body
            if isinstance(row, Load) and row.buffer in arrays and way_of(nest, row) == way
        )
        index = next(row for row in load.rows if row is not None)
        indices.append(index)
        dim = load.dims[load.rows.index(index)]
        found.append(_values(nest, index, dim, shared))
    common = {key: row for key, row in found[0].items() if all(key in each for each in found)}
    parts = {key: _rows_of(nest, row, indices[0]) for key, row in common.items()}
    made = []
    for key, root in common.items():
        loads = sum(isinstance(nest.body[row], Load) for row in parts[key])
        if loads >= LEAST and not any(root in parts[other] for other in common if other != key):
            rows = tuple((each[key], index) for each, index in zip(found, indices, strict=True))
            made.append(Handed(nest.body[root].dtype, loads, rows))
    return made


def _values(nest: Nest, index: Row, dim: Dimension, shared: Container[str]) -> dict[Key, Row]:
    """Return the values that are computed for each point of one neighbour only."""
    keys: list[Key | None] = []
    for row in nest.body:
        keys.append(_key(row, keys, index, dim, shared))
    inner = len(nest.loops)
    return {
        keys[number]: number
        for number, row in enumerate(nest.body)
        if keys[number] is not None
        and isinstance(row, Compute)
        and row.level == inner
        and row.dtype in ("float32", "float64")
    }


def _key(
    row: Instruction, keys: Sequence[Key | None], index: Row, dim: Dimension, shared: Container[str]
) -> Key | None:
    """Return what an instruction computes of the neighbour; None if it needs anything else."""
    match row:
        case Constant() | Argument() | Number():
            return classes.evolve(row, level=0)
        case Compute(args=args):
            own = tuple(keys[arg] for arg in args)
            return None if None in own else (row.op, row.dtype, row.level, own)
        case Load(rows=rows) if row.when is None and row.buffer not in shared and index in rows:
            axis = rows.index(index)
            others = [each for each in rows if each not in (None, index)]
            leads = not others and not row.offsets[axis] and row.dims[axis] is dim
            return classes.evolve(row, rows=()) if leads else None
    return None


def evaluated_here(nest: Nest, value: Handed, buffer: Buffer) -> tuple[Instruction, ...]:
    """Return a body that stores the value of each element itself in an array."""
    root, index = value.rows[0]
    body = [classes.evolve(row, rows=()) if isinstance(row, Load) else row for row in nest.body]
    store = Store(dtype=value.dtype, level=len(nest.loops), buffer=buffer.name, value=root)
    return _renumbered([*body, store], [*_rows_of(nest, root, index), len(body)])


def _rows_of(nest: Nest, root: Row, index: Row) -> list[Row]:
    """Return the rows of a value without those that find the neighbour."""
    return sorted(reached([root], lambda row: set(nest.body[row].operands) - {index}))


def read_from(nest: Nest, value: Handed, buffer: Buffer) -> Nest:
    """Let a nest load the values of neighbours from an array."""
    body = list(nest.body)
    for root, index in value.rows:
        body[root] = Load(
            dtype=value.dtype, level=len(nest.loops), buffer=buffer.name, dims=buffer.dims,
            offsets=(0,) * len(buffer.dims),
            rows=tuple(index if place == 0 else None for place in range(len(buffer.dims))),
        )  # fmt: skip
    return classes.evolve(nest, body=needed(body))


def needed(body: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Leave out the instructions that no store needs."""
    stores = (number for number, row in enumerate(body) if isinstance(row, Store))
    return _renumbered(body, sorted(reached(stores, lambda row: body[row].operands)))


def _renumbered(body: Sequence[Instruction], kept: Sequence[Row]) -> tuple[Instruction, ...]:
    """Return the rows of a body that are kept, with references to their new places."""
    places = {row: place for place, row in enumerate(kept)}
    return tuple(with_operands(body[row], places.__getitem__) for row in kept)
