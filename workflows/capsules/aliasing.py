"""Find the arguments that are views of one array, so that a replay gets such views again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from ...runtime.process import classes

ALIGNMENT: Final = 64  # so that a field lies as before within a line of the cache
Place: TypeAlias = tuple[Any, ...]


@classes.frozen
class Memory:
    """The stretch of memory that several fields lie in: its name, first address and bytes."""

    name: str
    start: int
    size: int


def place_of(field: Any) -> Place:
    """Return what tells two fields apart: memory, layout and domain."""
    return field.pointer, field.shape, field.strides, field.dims, tuple(field.starts)


def shared_memory(fields: Iterable[Any]) -> dict[Place, Memory]:
    """Return the memory of each field whose memory overlaps that of another field."""
    hulls = {place_of(field): _hull(field) for field in fields if 0 not in field.shape}
    groups: list[tuple[int, int, list[Place]]] = []
    for place, (low, high) in sorted(hulls.items(), key=lambda row: row[1]):
        if groups and low < groups[-1][1]:
            start, end, places = groups.pop()
            groups.append((start, max(end, high), [*places, place]))
        else:
            groups.append((low, high, [place]))
    shared = [
        (low - low % ALIGNMENT, high, places) for low, high, places in groups if len(places) > 1
    ]
    return {
        place: Memory(f"memory/{number}", start, end - start)
        for number, (start, end, places) in enumerate(shared)
        for place in places
    }


def _hull(field: Any) -> tuple[int, int]:
    """Return the first address of a field and that behind its last byte."""
    steps = [(size - 1) * by for size, by in zip(field.shape, field.strides, strict=True)]
    low = field.pointer + sum(step for step in steps if step < 0)
    high = field.pointer + sum(step for step in steps if step > 0)
    return low, high + field.dtype.itemsize
