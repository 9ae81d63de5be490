"""Let sweeps of a column keep elements of the next level in registers.

Each level waits for what it loads, and few threads have columns. What the column does not store is
known before: its elements at the next level are on their way while this one is computed, where a
loop inside keeps compilers from that. What a level stores to the next one is there already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from .....runtime.process import classes
from ....ir.loops import (
    Access,
    Act,
    Column,
    Compute,
    Get,
    If,
    Index,
    Instruction,
    Load,
    Number,
    Row,
    Set,
    Store,
    Sweep,
    While,
    instructions,
    subtract,
)
from ...acts.act_trees import (
    Element,
    Numbered,
    below,
    element_of,
    is_plain,
    numbered,
    ordered,
    rows_of,
)
from ...plan.registers import words


def with_levels_ahead(column: Column, registers: int) -> Column:
    """Return a column whose sweeps keep the next level in so many registers of 32 bits at most."""
    writing = _Writing(count(sum(1 for _ in instructions(column))), [*column.registers])
    made = [
        writing.ahead(act, _Found.of(act, registers)) if isinstance(act, Sweep) else act
        for act in numbered(column.acts)
    ]
    if len(writing.registers) == len(column.registers):
        return column
    return classes.evolve(column, acts=ordered(made), registers=tuple(writing.registers))


@classes.frozen
class _Found:
    """Loads of a sweep that the level before may do.

    Attributes:
        known: those of elements that no level stores before.
        handed: those of what the level before stores last, with the row of the value.

    """

    known: Mapping[Row, Load]
    handed: Mapping[Row, Row]

    @classmethod
    def of(cls, sweep: Sweep, registers: int) -> _Found:
        """Return the loads, of those `known` as many as fit; none without a loop inside."""
        rows = [row for row in rows_of(sweep.acts) if isinstance(row, Access)]
        last = {element_of(row): row for row in rows if isinstance(row, Store)}
        always = {id(act.row) for act in sweep.acts if isinstance(act, Numbered)}
        has_loop = any(isinstance(act, While) for act in below(sweep.acts))
        known, handed = dict[Row, Load](), dict[Row, Row]()
        for number, load in _first_loads(sweep):
            store = last.get(element_of(_moved(load, sweep)))
            if store is not None and id(store) in always:
                handed[number] = store.value
            elif store is None and has_loop and registers >= words(load.dtype):
                registers -= words(load.dtype)
                known[number] = load
        return cls(known, handed)


def _first_loads(sweep: Sweep) -> Iterator[tuple[Row, Load]]:
    """Yield the loads at each level of elements that it does not store before, with their rows."""
    rows = [row for row in rows_of(sweep.acts) if isinstance(row, Access)]
    stored = {row.buffer for row in rows if isinstance(row, Store)}
    unclear = stored & {row.buffer for row in rows if not is_plain(row)}
    changed = set[Element]()
    for act in sweep.acts:
        if isinstance(act, Numbered) and isinstance(act.row, Load):
            is_clear = is_plain(act.row) and act.row.buffer not in unclear
            if is_clear and sweep.range.dim in act.row.dims and element_of(act.row) not in changed:
                yield act.number, act.row
        changed |= {element_of(row) for row in rows_of([act]) if isinstance(row, Store)}


def _moved(load: Load, sweep: Sweep) -> Load:
    """Return a load of the next level."""
    step = -1 if sweep.backward else 1
    offsets = [offset + step * (dim is sweep.range.dim) for dim, _, offset in load.places]
    return classes.evolve(load, offsets=tuple(offsets))


@classes.define
class _Writing:
    """A column while it is written: the next numbers of rows, the dtypes of all registers."""

    numbers: Iterator[int]
    registers: list[str]

    def ahead(self, sweep: Sweep, found: _Found) -> Sweep:
        """Return a sweep that finds elements in registers.

        It begins with loads of those of the next level that are known, and ends with what it hands
        on. At the first level it loads them itself.
        """
        numbers = found.known.keys() | found.handed.keys()
        if not numbers:
            return sweep
        loads = [act for act in sweep.acts if isinstance(act, Numbered) and act.number in numbers]
        held = dict(zip((each.number for each in loads), count(len(self.registers)), strict=False))
        self.registers += [each.dtype for each in loads]
        gets = [
            classes.evolve(each, row=Get(dtype=each.dtype, register=held[each.number]))
            for each in loads
        ]
        left = [act for act in sweep.acts if not any(act is each for each in loads)]
        ends = [
            self._set(held[each.number], each.dtype, value)
            for each in loads
            if (value := found.handed.get(each.number)) is not None
        ]
        following = self._next(sweep, found.known, held) if found.known else ()
        return classes.evolve(
            sweep, acts=(*self._first(sweep, loads, held), *gets, *following, *left, *ends)
        )

    def _first(
        self, sweep: Sweep, loads: Sequence[Numbered], held: Mapping[Row, int]
    ) -> Iterator[Act]:
        first = subtract(sweep.range.stop, 1) if sweep.backward else sweep.range.start
        yield (index := self._row(Index(dtype="int64", dim=sweep.range.dim)))
        yield (start := self._row(Number(dtype="int64", bound=first)))
        yield (begins := self._compared("eq", index, start))
        own = list[Act]()
        for each in loads:
            loaded = self._row(each.row)
            own += [loaded, self._set(held[each.number], each.dtype, loaded.number)]
        yield If(begins.number, tuple(own))

    def _next(
        self, sweep: Sweep, loads: Mapping[Row, Load], held: Mapping[Row, int]
    ) -> Iterator[Act]:
        last = sweep.range.start if sweep.backward else subtract(sweep.range.stop, 1)
        known = {element_of(load): number for number, load in loads.items()}
        yield (index := self._row(Index(dtype="int64", dim=sweep.range.dim)))
        yield (end := self._row(Number(dtype="int64", bound=last)))
        yield (more := self._compared("gt" if sweep.backward else "lt", index, end))
        for number, load in loads.items():
            moved = _moved(load, sweep)
            value = known.get(element_of(moved))
            if value is None:
                yield (loaded := self._row(classes.evolve(moved, when=more.number)))
                value = loaded.number
            yield self._set(held[number], load.dtype, value)

    def _compared(self, op: str, one: Numbered, other: Numbered) -> Numbered:
        return self._row(Compute(dtype="bool", op=op, args=(one.number, other.number)))

    def _set(self, register: int, dtype: str, value: Row) -> Numbered:
        return self._row(Set(dtype=dtype, register=register, value=value))

    def _row(self, made: Instruction) -> Numbered:
        return Numbered(dtype=made.dtype, number=next(self.numbers), row=made)
