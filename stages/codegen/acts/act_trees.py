"""Trees of acts of a column: number their rows, rewrite them, put them in the order of the text.

Also leave out rows that nobody reads, and changes of registers that nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TypeAlias

from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Act,
    Buffer,
    Get,
    If,
    Instruction,
    Row,
    Set,
    Store,
    Sweep,
    While,
    with_operands,
)

Element: TypeAlias = tuple[str, tuple[int, ...]]  # a buffer, and how far from the point


@classes.frozen(kw_only=True)
class Numbered(Instruction):
    """A row with its number, while acts are rewritten."""

    number: Row
    row: Instruction


def numbered(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return acts in which each row has its number."""
    numbers = count()
    return mapped(acts, lambda row: Numbered(dtype=row.dtype, number=next(numbers), row=row))


def ordered(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return rows without their numbers, which then follow the text."""
    return _ordered(acts, {}, count())


def _ordered(
    acts: Iterable[Act], places: dict[Row, Row], numbers: Iterator[int]
) -> tuple[Act, ...]:
    made: list[Act] = []
    for act in acts:
        if isinstance(act, Numbered):
            places[act.number] = next(numbers)
            row = act.row
            if isinstance(row, Set):
                made.append(classes.evolve(row, value=places[row.value]))
            else:
                made.append(with_operands(row, places.__getitem__))
        else:
            found = with_sides(act, lambda side: _ordered(side, places, numbers))
            if isinstance(found, If | While):
                found = classes.evolve(found, row=places[found.row])
            made.append(found)
    return tuple(made)


def with_sides(act: Act, change: Callable[[Iterable[Act]], tuple[Act, ...]]) -> Act:
    """Return a loop or a condition with its acts changed, in the order of the text; a row as is."""
    match act:
        case If():
            return classes.evolve(act, then=change(act.then), otherwise=change(act.otherwise))
        case While():
            return classes.evolve(act, condition=change(act.condition), acts=change(act.acts))
        case Sweep():
            return classes.evolve(act, acts=change(act.acts))
    return act


def mapped(acts: Iterable[Act], change: Callable[[Instruction], Instruction]) -> tuple[Act, ...]:
    """Return acts with each row changed."""
    return tuple(
        change(act)
        if isinstance(act, Instruction)
        else with_sides(act, lambda side: mapped(side, change))
        for act in acts
    )


def below(acts: Iterable[Act]) -> Iterator[Act]:
    """Yield acts and those inside them, in the order of the text."""
    for act in acts:
        yield act
        match act:
            case Sweep(acts=inner):
                yield from below(inner)
            case If(then=then, otherwise=otherwise):
                yield from below((*then, *otherwise))
            case While(condition=condition, acts=inner):
                yield from below((*condition, *inner))


def rows_of(acts: Iterable[Act]) -> Iterator[Instruction]:
    """Yield the rows of acts, without their numbers."""
    for act in below(acts):
        if isinstance(act, Numbered):
            yield act.row
        elif isinstance(act, Instruction):
            yield act


def needed(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return acts without rows that nobody reads, and without registers that nobody reads."""
    found = tuple(acts)
    read: set[int] | None = None
    while True:
        gets: set[int] = set()
        found = _needed(found, set(), gets, read)
        if gets == read:
            return found
        read = gets


def _needed(
    acts: Iterable[Act], wanted: set[Row], gets: set[int], read: set[int] | None
) -> tuple[Act, ...]:
    """Return acts, the last first looked at; add to `wanted` the rows that they read."""
    kept: list[Act] = []
    for act in reversed(tuple(acts)):
        match act:
            case If():
                otherwise = _needed(act.otherwise, wanted, gets, read)
                then = _needed(act.then, wanted, gets, read)
                if then or otherwise:
                    wanted.add(act.row)
                    kept.append(If(act.row, then, otherwise))
            case While():
                wanted.add(act.row)
                inner = _needed(act.acts, wanted, gets, read)
                kept.append(While(_needed(act.condition, wanted, gets, read), act.row, inner))
            case Sweep():
                inner = _needed(act.acts, wanted, gets, read)
                if inner:
                    kept.append(classes.evolve(act, acts=inner))
            case Numbered(number=number, row=row):
                is_read = isinstance(row, Set) and (read is None or row.register in read)
                if is_read or isinstance(row, Store) or number in wanted:
                    wanted.update(row.operands)
                    gets.update([row.register] if isinstance(row, Get) else ())
                    kept.append(act)
    return tuple(reversed(kept))


def is_plain(access: Access) -> bool:
    """Tell whether a register may stand for what an access touches."""
    adds = isinstance(access, Store) and access.add
    return not (access.is_told or adds or access.when is not None or access.dtype == "bool")


def level_at(access: Access, sweep: Sweep, buffers: Mapping[str, Buffer]) -> int | None:
    """Return how far from the level of a sweep an access is; None if only the call knows."""
    dims = buffers[access.buffer].dims
    if sweep.range.dim not in dims:
        return None
    row, offset = access.coordinates(len(dims))[dims.index(sweep.range.dim)]
    return offset if row is None else None


def renamed(row: Instruction, names: Mapping[str, str]) -> Instruction:
    """Return a row that touches a buffer of another name, if `names` has one."""
    if isinstance(row, Access) and row.buffer in names:
        return classes.evolve(row, buffer=names[row.buffer])
    return row


def in_register(access: Access, register: int) -> Instruction:
    """Return an act on a register in place of one on the element that it holds."""
    if isinstance(access, Store):
        return Set(dtype=access.dtype, register=register, value=access.value)
    return Get(dtype=access.dtype, register=register)


def element_of(access: Access) -> Element:
    """Return what an access touches."""
    return access.buffer, access.offsets if any(access.offsets) else ()
