"""Estimate the registers of a thread from the rows that it computes, and order rows to need few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...ir.loops import (
    ITEMSIZES,
    Argument,
    Constant,
    Index,
    Instruction,
    Nest,
    Number,
    Row,
    Store,
    with_operands,
)

WORD: Final = 4  # bytes of a register
# What a thread keeps besides values: indices, addresses, bounds. With it the estimate is 0.8 to 1.6
# times (median 1.0) what NVRTC 12.9 takes for sm_90 without a limit, of 88 kernels on meshes.
OTHERS: Final = 24
_FREE: Final = (Argument, Constant, Index, Number)  # they need none, or are among the others


def registers(nest: Nest, points: int) -> int:
    """Return about how many registers a thread with several points along the rows takes.

    What changes along the rows is there for each point, other values once.
    """
    body, order = nest.body, _in_demand(nest.body)
    last = {each: number for number in order for each in body[number].operands}
    alive: dict[Row, int] = {}
    most = now = 0
    for number in order:
        row = body[number]
        if number in last and not isinstance(row, _FREE):
            count = points if row.level == len(nest.loops) else 1
            alive[number] = count * words(row.dtype)
            now += alive[number]
        most = max(most, now)
        for each in row.operands:
            if last[each] == number:
                now -= alive.pop(each, 0)
    return OTHERS + most


def words(dtype: str) -> int:
    """Return the registers that a number takes."""
    return -(-ITEMSIZES[dtype] // WORD)


def by_demand(body: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Return a body in which each row stands just before the first that needs it."""
    place = {row: number for number, row in enumerate(_in_demand(body))}
    return tuple(with_operands(body[number], place.__getitem__) for number in place)


def _in_demand(body: Sequence[Instruction]) -> Sequence[Row]:
    """Return the rows in that order; there is no recursion, as chains are long."""
    place: dict[Row, None] = {}
    waiting = [number for number, row in enumerate(body) if isinstance(row, Store)][::-1]
    while waiting:
        missing = next((row for row in body[waiting[-1]].operands if row not in place), None)
        if missing is None:
            place.setdefault(waiting.pop())
        else:
            waiting.append(missing)
    return list(place)
