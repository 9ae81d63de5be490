"""Join to a column the nests that read its arrays in their own column, and sweeps that follow.

A nest becomes a sweep after those of the column. Two sweeps over the same levels become one where
the second touches at each level only what the first is done with. An array of which a sweep only
knows the level where it is becomes a register.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Act,
    Buffer,
    Column,
    Get,
    Instruction,
    Load,
    Nest,
    Set,
    Store,
    Sweep,
    arrays_of,
    instructions,
    with_operands,
)
from .act_trees import in_register, level_at, mapped, numbered, ordered, rows_of

Code: TypeAlias = Nest | Column
Buffers: TypeAlias = Mapping[str, Buffer]


def joined(nodes: Sequence[Code], buffers: Buffers) -> list[Code]:
    """Return nodes in order, columns with the nests that can be theirs."""
    found: list[Code] = []
    for node in nodes:
        place = _column_for(node, found, buffers) if isinstance(node, Nest) else None
        if place is None or not isinstance(node, Nest):
            found.append(node)
        else:
            found[place] = _with_nest(found[place], node)
    return [
        _with_fewer_sweeps(each, buffers) if isinstance(each, Column) else each for each in found
    ]


def _column_for(nest: Nest, nodes: Sequence[Code], buffers: Buffers) -> int | None:
    """Return the place of the column that a nest can join, past all nodes after it."""
    mine, stored = arrays_of(nest), arrays_of(nest, Store)
    for place, node in reversed([*enumerate(nodes)]):
        theirs = arrays_of(node, Store)
        if isinstance(node, Column) and not mine.isdisjoint(theirs):
            return place if _fits(nest, node, buffers) else None
        if not mine.isdisjoint(theirs) or not stored.isdisjoint(arrays_of(node)):
            return None
    return None


def _fits(nest: Nest, column: Column, buffers: Buffers) -> bool:
    """Tell whether a nest computes each column from this column, and reads no other field."""
    columns = {loop.range.dim: loop.range for loop in column.loops}
    own = {loop.range.dim: loop.range for loop in nest.loops}
    axes = {act.range.dim for act in column.acts if isinstance(act, Sweep)}
    is_like = all(own.get(dim) == range_ for dim, range_ in columns.items())
    if nest.states or nest.parts or not is_like or not own.keys() - columns.keys() <= axes:
        return False
    stored = arrays_of(nest, Store)
    loaded = arrays_of(nest, Load)
    changed = stored | arrays_of(column, Store)
    both = (row for row in nest.body if isinstance(row, Access) and row.buffer in loaded & stored)
    return (
        loaded <= arrays_of(column)
        and all(not (any(row.offsets) or row.is_told) for row in both)
        and all(
            _is_own(row, columns, buffers)
            for each in (nest, column)
            for row in instructions(each)
            if isinstance(row, Access) and row.buffer in changed
        )
    )


def _is_own(row: Access, columns: Mapping[Dimension, object], buffers: Buffers) -> bool:
    """Tell whether an access is to the column of the loops."""
    dims = buffers[row.buffer].dims
    return all(
        place == (None, 0)
        for dim, place in zip(dims, row.coordinates(len(dims)), strict=True)
        if dim in columns
    )


def _with_nest(column: Code, nest: Nest) -> Column:
    """Return a column that ends with a sweep, or with rows, for a nest."""
    assert isinstance(column, Column)  # the caller looks
    first = sum(1 for _ in instructions(column))
    rows: tuple[Act, ...] = tuple(
        classes.evolve(with_operands(row, lambda each: first + each), level=0, part=0)
        for row in nest.body
    )
    dims = {loop.range.dim for loop in column.loops}
    walked = [loop.range for loop in nest.loops if loop.range.dim not in dims]
    acts = (Sweep(walked[0], rows),) if walked else rows
    filled = arrays_of(column, Store)
    reads = (each for each in nest.reads if each.buffer not in filled)
    return classes.evolve(
        column,
        acts=_moved((*column.acts, *acts), len(column.acts)),
        reads=tuple(dict.fromkeys((*column.reads, *reads))),
    )


def _moved(acts: Sequence[Act], last: int) -> tuple[Act, ...]:
    """Return acts with the last one behind the sweeps before, if what stands between allows it."""
    made = list(numbered(acts))
    own = made[last:]
    place = last
    touched = {row.buffer for row in rows_of(own) if isinstance(row, Access)}
    stored = {row.buffer for row in rows_of(own) if isinstance(row, Store)}
    while place and not isinstance(made[place - 1], Sweep):
        others = (row for row in rows_of([made[place - 1]]) if isinstance(row, Access))
        if any(row.buffer in (touched if isinstance(row, Store) else stored) for row in others):
            break
        place -= 1
    is_sweep = len(own) == 1 and isinstance(own[0], Sweep) and place
    return ordered((*made[:place], *own, *made[place:last]) if is_sweep else made)


# --- sweeps -------------------------------------------------------------------------------------


def _with_fewer_sweeps(column: Column, buffers: Buffers) -> Column:
    """Return a column where sweeps that can are one."""
    made: list[Act] = []
    for act in column.acts:
        last = made[-1] if made else None
        if isinstance(act, Sweep) and isinstance(last, Sweep):
            backward = _direction(last, act, buffers)
            if backward is not None:
                made[-1] = Sweep(act.range, (*last.acts, *act.acts), backward)
                continue
        made.append(act)
    return classes.evolve(column, acts=tuple(made))


def _direction(one: Sweep, other: Sweep, buffers: Buffers) -> bool | None:
    """Tell whether two sweeps can be one that goes backward, or forward; None if they cannot."""
    if one.range != other.range or not _registers(one).isdisjoint(_registers(other)):
        return None
    ways = {each.backward for each in (one, other) if not _is_free(each, buffers)}
    if len(ways) > 1:
        return None
    backward = ways.pop() if ways else one.backward
    sign = -1 if backward else 1
    for first, second in product(_accesses(one), _accesses(other)):
        if first.buffer == second.buffer and isinstance(first, Store) | isinstance(second, Store):
            places = [level_at(each, one, buffers) for each in (first, second)]
            if None in places or sign * (places[1] or 0) > sign * (places[0] or 0):
                return None
    return backward


def _is_free(sweep: Sweep, buffers: Buffers) -> bool:
    """Tell whether the levels of a sweep do not depend on each other."""
    stored = {each.buffer for each in _accesses(sweep) if isinstance(each, Store)}
    own = {level_at(each, sweep, buffers) for each in _accesses(sweep) if each.buffer in stored}
    return own <= {0} and not any(isinstance(row, Set) for row in rows_of(sweep.acts))


def _accesses(sweep: Sweep) -> Iterator[Access]:
    return (row for row in rows_of(sweep.acts) if isinstance(row, Access))


def _registers(sweep: Sweep) -> set[int]:
    return {row.register for row in rows_of(sweep.acts) if isinstance(row, Get | Set)}


# --- registers ----------------------------------------------------------------------------------


def with_registers(column: Column, own: Iterable[str], buffers: Buffers) -> Column:
    """Return a column with registers for those of its `own` arrays that one level knows."""
    for name in sorted(own):
        sweeps = [act for act in column.acts if _touches(act, name)]
        if (
            len(sweeps) == 1
            and isinstance(sweeps[0], Sweep)
            and _is_local(sweeps[0], name, buffers)
        ):
            column = _with_register(column, name, buffers[name].dtype)
    return column


def _with_register(column: Column, name: str, dtype: str) -> Column:
    """Return a column with a register in place of an array."""
    register = len(column.registers)

    def changed(row: Instruction) -> Instruction:
        if isinstance(row, Access) and row.buffer == name:
            return in_register(row, register)
        return row

    return classes.evolve(
        column, acts=mapped(column.acts, changed), registers=(*column.registers, dtype)
    )


def _touches(act: Act, name: str) -> bool:
    return any(isinstance(row, Access) and row.buffer == name for row in rows_of([act]))


def _is_local(sweep: Sweep, name: str, buffers: Buffers) -> bool:
    """Tell whether a sweep first stores an array at each level, and touches no other."""
    own = [each for each in _accesses(sweep) if each.buffer == name]
    first = next(act for act in sweep.acts if _touches(act, name))
    return (
        first is own[0]
        and isinstance(first, Store)
        and all(
            level_at(each, sweep, buffers) == 0
            and each.when is None
            and not (isinstance(each, Store) and each.add)
            for each in own
        )
    )
