"""Values that a nest on a mesh computes of one neighbour, and the table slots that lead there."""

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
from ..schedule.discovery import TABLE, table_buffer

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
        dim, index = next((dim, row) for dim, row, _ in load.places if row is not None)
        indices.append(index)
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


Way: TypeAlias = tuple[tuple[str, int], ...]


def ways(nest: Nest, arrays: Mapping[str, object]) -> list[tuple[str, Way | None]]:
    """Return how a nest finds the elements of arrays: slots of tables, one after the other.

    A way is empty if it reads its own element, and None if not only tables lead there.
    """
    loads = (row for row in nest.body if isinstance(row, Load) and row.buffer in arrays)
    return list(dict.fromkeys((load.buffer, way_of(nest, load)) for load in loads))


def way_of(nest: Nest, load: Load) -> Way | None:
    """Return the slots of tables that lead from an element of a nest to what a load reads."""
    axis = load.dims.index(nest.loops[-1].range.dim) if len(load.dims) > 1 else -1
    links: list[tuple[str, int]] = []
    inner, row, offset = next(each for place, each in enumerate(load.places) if place != axis)
    if load.when is not None or offset or (axis >= 0 and load.places[axis][1] is not None):
        return None
    while row is not None:
        link = _link(nest, row)
        if link is None:
            return None
        table, slot, row = link
        links.insert(0, (table, slot))
    return tuple(links) if links or inner is nest.loops[0].range.dim else None


def _link(nest: Nest, row: Row) -> tuple[str, int, Row | None] | None:
    """Return table, slot and the index of the row of the table that an instruction reads."""
    load = nest.body[row]
    if not isinstance(load, Load) or not load.buffer.startswith(TABLE) or load.when is not None:
        return None
    first, local = load.rows or (None, None)
    outer, slot = load.offsets
    is_own = first is not None or load.dims[0] is nest.loops[0].range.dim
    if local is not None or outer or not is_own:
        return None
    return load.buffer.removeprefix(TABLE), slot, first


def codomains(
    nests: Sequence[Nest], buffers: Mapping[str, Buffer]
) -> dict[str, tuple[Dimension, Dimension]]:
    """Return between which dimensions tables lead that the nests use, by their names."""
    links = (
        (_link(nest, index), dim)
        for nest in nests
        for load in nest.body
        if isinstance(load, Load)
        for dim, index in zip(load.dims, load.rows, strict=False)
        if index is not None
    )
    tables = ((link[0], dim) for link, dim in links if link is not None)
    return {name: (buffers[table_buffer(name)].dims[0], dim) for name, dim in tables}


def owner_of(
    dim: Dimension, last: Dimension, leads: Mapping[str, tuple[Dimension, Dimension]]
) -> tuple[str, bool]:
    """Return a table that leads to the last nest's elements, or one back; '' if there is none."""
    wanted = (((dim, last), False), ((last, dim), True))
    found = ((name, back) for ends, back in wanted for name, own in leads.items() if own == ends)
    return next(found, ("", False))
