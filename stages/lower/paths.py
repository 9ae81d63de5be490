"""Access paths: the shifts, neighbours, slots, levels and displacements applied to a value.

A path lists the accesses to a value, innermost first, in a normal form, so that equivalent accesses
have equal paths: shifts stand as far inside as possible, one for each dimension, in canonical
order; a slot of all neighbours is one neighbour; a displacement comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...runtime.language import Dimension, union_of
from ...runtime.process import classes
from ..ir.dataflow import Bound, Gather, Level, Local, Neighbours, Ref, Shift, Table
from .graph import Dims, gathered, without


@classes.frozen
class Move:
    """A shift; `onto` is the dimension of the result."""

    dim: Dimension
    onto: Dimension
    offset: int


@classes.frozen
class Pick:
    """One neighbour."""

    table: str
    column: int


@classes.frozen
class All:
    """All neighbours."""

    table: str


@classes.frozen
class Slot:
    """One slot of a local dimension."""

    dim: Dimension
    place: int


@classes.frozen
class Fix:
    """One index along a dimension."""

    dim: Dimension
    at: Bound


@classes.frozen
class Jump:
    """A displacement by a row of the old program, which has a path of its own."""

    dim: Dimension
    by: Ref
    path: tuple[Any, ...]


Step: TypeAlias = Move | Pick | All | Slot | Fix | Jump
Path: TypeAlias = tuple[Step, ...]
Tables: TypeAlias = Mapping[str, Table]
Access: TypeAlias = Shift | Gather | Neighbours | Local | Level


def step_of(value: Access) -> Step:
    """Return the step of an access."""
    match value:
        case Shift():
            return Move(value.dim, value.onto, value.offset)
        case Gather():
            return Pick(value.table, value.index)
        case Neighbours():
            return All(value.table)
        case Local():
            return Slot(value.dim, value.index)
        case Level():
            return Fix(value.dim, value.at)


def inside(step: Step, path: Path, tables: Tables) -> Path:
    """Return the path that applies `step` first."""
    moves: list[Move] = []
    for each in path:
        if not isinstance(each, Move):
            break
        moves.append(each)
    rest = path[len(moves) :]
    if isinstance(step, Move):
        return (*_merged(step, moves), *rest)
    if isinstance(step, All):
        slot = next((each for each in rest if _is_slot_of(each, tables[step.table])), None)
        if isinstance(slot, Slot):
            rest = tuple(each for each in rest if each is not slot)
            step = Pick(step.table, slot.place)
    if isinstance(step, Pick | All):
        target = tables[step.table].target
        inner = tuple(each for each in moves if each.dim is not target)
        outer = tuple(each for each in moves if each.dim is target)
        return (*inner, step, *outer, *rest)
    return (*moves, step, *rest)


def onto(dims: Dims, path: Path, tables: Tables) -> Path:
    """Return the steps of a path that affect a value with these dimensions."""
    kept: list[Step] = []
    for step in path:
        moved = through(dims, step, tables)
        if moved is not None:
            kept.append(step)
            dims = moved
    return path if len(kept) == len(path) else tuple(kept)


def through(dims: Dims, step: Step, tables: Tables) -> Dims | None:
    """Return the dimensions after a step without those of `by`; None if the step has no effect."""
    match step:
        case Move():
            if step.dim not in dims:
                return None
            if step.onto is step.dim:
                return dims
            return tuple(step.onto if each is step.dim else each for each in dims)
        case Slot() | Fix():
            return without(dims, step.dim) if step.dim in dims else None
        case Jump():
            return dims if step.dim in dims else None
        case Pick() | All():
            table = tables[step.table]
            if table.source not in dims:
                return None
            found = gathered(dims, table)
            return union_of((found, (table.local,))) if isinstance(step, All) else found


def points(path: Path, tables: Tables) -> int:
    """Return the number of points that a path reads for one point of the result."""
    count = 1
    for step in path:
        if isinstance(step, All):
            count *= max(tables[step.table].width, 1)
    return count


def _merged(step: Move, moves: Sequence[Move]) -> tuple[Move, ...]:
    made, kept = step, []
    for each in moves:
        if each.dim is step.onto:
            made = Move(step.dim, each.onto, step.offset + each.offset)
        else:
            kept.append(each)
    if made.offset or made.onto is not made.dim:
        kept.append(made)
    order = union_of((each.dim,) for each in kept)
    return tuple(sorted(kept, key=lambda each: order.index(each.dim)))


def _is_slot_of(step: Step, table: Table) -> bool:
    return isinstance(step, Slot) and step.dim is table.local
