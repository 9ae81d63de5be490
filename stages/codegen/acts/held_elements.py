"""Hold the elements that a loop inside a level changes in registers, and store them after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import count

from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Act,
    Buffer,
    Column,
    Get,
    If,
    Instruction,
    Load,
    Set,
    Store,
    Sweep,
    While,
    instructions,
)
from .act_trees import (
    Element,
    Numbered,
    below,
    element_of,
    in_register,
    is_plain,
    mapped,
    numbered,
    ordered,
    rows_of,
)


def with_held_elements(column: Column, buffers: Mapping[str, Buffer]) -> Column:
    """Return a column whose loops change registers in place of elements.

    The smallest block around all accesses to an element loads it first, unless it stores it before
    it reads it, and stores it last, also where a condition skips the loop: the element of a store
    is inside, and nobody else touches it meanwhile.
    """
    writing = _Writing(buffers, count(sum(1 for _ in instructions(column))), [*column.registers])
    acts, made, filled = numbered(column.acts), list[Act](), set[str]()
    if any(isinstance(act, Sweep) for act in acts):
        for act in acts:
            if isinstance(act, Sweep):
                made.append(classes.evolve(act, acts=tuple(writing.held(act.acts, filled))))
            else:
                made.append(act)
            filled |= {row.buffer for row in rows_of([act]) if isinstance(row, Store)}
    else:
        made = list(writing.held(acts, filled))
    if len(writing.registers) == len(column.registers):
        return column
    return classes.evolve(column, acts=ordered(made), registers=tuple(writing.registers))


@classes.define
class _Writing:
    """Levels while they are written: the next numbers of rows, the dtypes of all registers."""

    buffers: Mapping[str, Buffer]
    numbers: Iterator[int]
    registers: list[str]

    def held(self, acts: tuple[Act, ...], filled: Collection[str]) -> Iterator[Act]:
        """Yield the acts of a level, with what is held loaded before and stored after them.

        `filled` are the arrays that have numbers before.
        """
        yield from self._within(acts, filled, _changed(acts))

    def _within(
        self, acts: tuple[Act, ...], filled: Collection[str], changed: Mapping[Element, Store]
    ) -> Iterator[Act]:
        """Yield acts that hold elements, under a condition those that are only touched there."""
        made, left = list[Act](), dict(changed)
        for act in acts:
            if not isinstance(act, If):
                made.append(act)
                continue
            sides = []
            for side in (act.then, act.otherwise):
                own = {e: each for e, each in left.items() if _often(side, e) == _often(acts, e)}
                sides.append(tuple(self._within(side, filled, own)) if own else side)
                left = {e: each for e, each in left.items() if e not in own}
            made.append(If(act.row, *sides))
        yield from self._around(tuple(made), filled, left)

    def _around(
        self, acts: tuple[Act, ...], filled: Collection[str], changed: Mapping[Element, Store]
    ) -> Iterator[Act]:
        held, stores, loads = dict[Element, int](), dict[Element, Store](), list[Element]()
        for element, store in changed.items():
            is_stored = _is_stored_first(acts, element)
            if is_stored or self.buffers[store.buffer].memory == "field" or store.buffer in filled:
                held[element], stores[element] = len(self.registers), store
                self.registers.append(store.dtype)
                loads += [] if is_stored else [element]
        for element in loads:
            store, dims = stores[element], self.buffers[element[0]].dims
            offsets = element[1] or (0,) * len(dims)
            load = Load(dtype=store.dtype, buffer=store.buffer, dims=dims, offsets=offsets)
            yield (loaded := self._row(load))
            yield self._row(Set(dtype=store.dtype, register=held[element], value=loaded.number))
        yield from mapped(acts, partial(_in_its_register, held))
        for element, store in stores.items():
            yield (value := self._row(Get(dtype=store.dtype, register=held[element])))
            yield self._row(classes.evolve(store, value=value.number))

    def _row(self, made: Instruction) -> Numbered:
        return Numbered(dtype=made.dtype, number=next(self.numbers), row=made)


def _in_its_register(held: Mapping[Element, int], act: Instruction) -> Instruction:
    """Return an act on a register in place of one on an element that is held."""
    if not (isinstance(act, Numbered) and isinstance(act.row, Access)):
        return act
    register = held.get(element_of(act.row))
    return act if register is None else classes.evolve(act, row=in_register(act.row, register))


def _changed(acts: tuple[Act, ...]) -> dict[Element, Store]:
    """Return a store to each element that loops change, of buffers whose elements are all known."""
    rows = [row for row in rows_of(acts) if isinstance(row, Access)]
    unclear = {row.buffer for row in rows if not is_plain(row)}
    loops = [act for act in below(acts) if isinstance(act, While)]
    found = dict[Element, Store]()
    for store in (row for row in rows_of(loops) if isinstance(row, Store)):
        if store.buffer not in unclear:
            found.setdefault(element_of(store), store)
    return found


def _often(acts: Iterable[Act], element: Element) -> int:
    """Return how many rows touch an element."""
    return sum(isinstance(row, Access) and element_of(row) == element for row in rows_of(acts))


def _is_stored_first(acts: tuple[Act, ...], element: Element) -> bool:
    """Tell whether acts store an element, whatever holds, before they read it."""
    for act in acts:
        for row in rows_of([act]):
            if isinstance(row, Access) and element_of(row) == element:
                return isinstance(act, Numbered) and isinstance(row, Store)
    return False
