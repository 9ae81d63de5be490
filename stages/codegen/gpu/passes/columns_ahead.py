"""Let sweeps of a column load a level before its turn, where a loop inside keeps compilers from it.

Each level waits for what it loads, and few threads have columns. What the column does not store is
known before: its elements at the next level are on their way while this one is computed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count

from .....runtime.language.dimension import Dimension
from .....runtime.process import classes
from ....ir.bounds import subtract
from ....ir.loops.column import Act, Column, Get, If, Set, Sweep, While
from ....ir.loops.nest import Compute, Index, Instruction, Load, Number, Row, Store
from ....ir.loops.traverse import arrays_of, instructions
from ...acts.act_trees import Numbered, below, numbered, ordered
from ...schedule.costs import ITEMSIZES


def with_levels_ahead(column: Column, registers: int) -> Column:
    """Return a column whose sweeps keep the next level in so many registers of 32 bits at most."""
    stored = arrays_of(column, Store)
    writing = _Writing(count(sum(1 for _ in instructions(column))), [*column.registers])
    made = list[Act]()
    for act in numbered(column.acts):
        loads = _known(act, stored, registers) if isinstance(act, Sweep) else ()
        made.append(writing.ahead(act, loads) if isinstance(act, Sweep) and loads else act)
    if len(writing.registers) == len(column.registers):
        return column
    return classes.evolve(column, acts=ordered(made), registers=tuple(writing.registers))


def _known(sweep: Sweep, stored: Collection[str], registers: int) -> list[Numbered]:
    """Return the loads of a sweep with a loop inside that any level may do, as many as fit."""
    found = list[Numbered]()
    if not any(isinstance(act, While) for act in below(sweep.acts)):
        return found
    for act in sweep.acts:
        load = act.row if isinstance(act, Numbered) else None
        if isinstance(load, Load) and load.buffer not in stored and _is_known(load, sweep):
            registers -= -(-ITEMSIZES[load.dtype] // 4)
            if registers < 0:
                break
            assert isinstance(act, Numbered)
            found.append(act)
    return found


def _is_known(load: Load, sweep: Sweep) -> bool:
    is_plain = not load.is_told and load.when is None and load.dtype != "bool"
    return is_plain and sweep.range.dim in load.dims


def _moved(load: Load, dim: Dimension, step: int) -> Load:
    """Return a load some levels further."""
    offsets = [offset + step * (own is dim) for own, _, offset in load.places]
    return classes.evolve(load, offsets=tuple(offsets))


@classes.define
class _Writing:
    """A column while it is written: the next numbers of rows, the dtypes of all registers."""

    numbers: Iterator[int]
    registers: list[str]

    def ahead(self, sweep: Sweep, loads: Sequence[Numbered]) -> Sweep:
        """Return a sweep that finds elements in registers, and first loads those of the next level.

        At the first level it loads them itself.
        """
        held = dict[Row, int]()
        for load in loads:
            held[load.number] = len(self.registers)
            self.registers.append(load.dtype)
        gets = (classes.evolve(each, row=_get(each.dtype, held[each.number])) for each in loads)
        left = (act for act in sweep.acts if not any(act is each for each in loads))
        acts = (*self._first(sweep, loads, held), *gets, *self._next(sweep, loads, held), *left)
        return classes.evolve(sweep, acts=acts)

    def _first(
        self, sweep: Sweep, loads: Sequence[Numbered], held: Mapping[Row, int]
    ) -> Iterator[Act]:
        first = subtract(sweep.range.stop, 1) if sweep.backward else sweep.range.start
        yield (index := self._row(Index(dtype="int64", dim=sweep.range.dim)))
        yield (start := self._row(Number(dtype="int64", bound=first)))
        yield (begins := self._compute("bool", "eq", index, start))
        own = list[Act]()
        for each in loads:
            loaded = self._row(each.row)
            own += [loaded, self._set(held[each.number], loaded)]
        yield If(begins.number, tuple(own))

    def _next(
        self, sweep: Sweep, loads: Sequence[Numbered], held: Mapping[Row, int]
    ) -> Iterator[Act]:
        dim, step = sweep.range.dim, -1 if sweep.backward else 1
        last = sweep.range.start if sweep.backward else subtract(sweep.range.stop, 1)
        known = {_moved(each.row, dim, 0): each for each in loads if isinstance(each.row, Load)}
        yield (index := self._row(Index(dtype="int64", dim=dim)))
        yield (end := self._row(Number(dtype="int64", bound=last)))
        yield (more := self._compute("bool", "gt" if sweep.backward else "lt", index, end))
        for each in loads:
            assert isinstance(each.row, Load)
            moved = _moved(each.row, dim, step)
            value = known.get(moved)
            if value is None:
                yield (value := self._row(classes.evolve(moved, when=more.number)))
            yield self._set(held[each.number], value)

    def _compute(self, dtype: str, op: str, *args: Numbered) -> Numbered:
        return self._row(Compute(dtype=dtype, op=op, args=tuple(each.number for each in args)))

    def _set(self, register: int, value: Numbered) -> Numbered:
        return self._row(Set(dtype=value.dtype, register=register, value=value.number))

    def _row(self, made: Instruction) -> Numbered:
        return Numbered(dtype=made.dtype, number=next(self.numbers), row=made)


def _get(dtype: str, register: int) -> Get:
    return Get(dtype=dtype, register=register)
