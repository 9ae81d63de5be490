"""Let the levels of a sweep that do not depend on each other be points of the loops of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Act,
    Buffer,
    Column,
    Get,
    If,
    Instruction,
    NestLoop,
    Set,
    Store,
    Sweep,
    While,
)
from .act_trees import below, level_at, rows_of


def with_free_levels(column: Column, buffers: Mapping[str, Buffer]) -> Column:
    """Return a column that acts at one level only, with a loop over the levels, if it can."""
    if not column.acts or not column.loops:
        return column
    *before, last = column.acts
    are_rows = all(isinstance(act, Instruction) and not isinstance(act, Store) for act in before)
    shared = all(loop.kind == "parallel" for loop in column.loops)
    if not (isinstance(last, Sweep) and are_rows and shared and _is_free(last, buffers)):
        return column
    loop = NestLoop("parallel", last.range)
    units = {buffers[row.buffer].unit for row in rows_of([last]) if isinstance(row, Access)}
    is_inner = column.loops[-1].range.dim not in units and last.range.dim in units
    loops = (*column.loops, loop) if is_inner else (loop, *column.loops)
    return classes.evolve(column, loops=loops, acts=(*before, *last.acts))


def _is_free(sweep: Sweep, buffers: Mapping[str, Buffer]) -> bool:
    """Tell whether no level of a sweep knows what another one does."""
    if any(isinstance(act, Sweep) for act in below(sweep.acts)):
        return False
    rows = list(rows_of(sweep.acts))
    stored = {row.buffer for row in rows if isinstance(row, Store)}
    changed = {row.register for row in rows if isinstance(row, Set)}
    return changed.isdisjoint(read_first(sweep.acts)) and all(
        level_at(row, sweep, buffers) == 0
        for row in rows
        if isinstance(row, Access) and row.buffer in stored
    )


def read_first(acts: Iterable[Act]) -> set[int]:
    """Return the registers that acts may read before they set them."""
    found = set[int]()
    _note(acts, found, set())
    return found


def _note(acts: Iterable[Act], found: set[int], sure: set[int]) -> None:
    for act in acts:
        match act:
            case Get(register=register):
                found.update({register} - sure)
            case Set(register=register):
                sure.add(register)
            case If(then=then, otherwise=otherwise):
                _note(then, found, set(sure))
                _note(otherwise, found, set(sure))
            case While(condition=condition, acts=inner):
                _note((*condition, *inner), found, set(sure))
