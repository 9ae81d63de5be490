"""The lines that define the names of a kernel: scalar parameters, fields, arrays of the arena.

Each comes with the name that it defines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ....runtime.language import Dimension
from ...ir.bounds import Range
from ...ir.loops import Argument, Buffer, arrays_of, bodies
from ..arena import extent
from ..integers import split
from .expressions import TYPES
from .scope import Scope, stored_type

Definition: TypeAlias = tuple[str, str]  # a name, and the line that defines it


def scalars(scope: Scope) -> Iterator[Definition]:
    """Read the scalar parameters that bodies use."""
    rows = (row for _, rows in bodies(scope.kernel) for row in rows)
    used = {row.name for row in rows if isinstance(row, Argument)}
    for place, (name, dtype) in enumerate(scope.kernel.scalars):
        if name in used:
            stored = TYPES["uint8" if dtype == "bool" else dtype][0]
            value = f"*(const {stored}*)((const char*)scalars + {8 * place})"
            test = " != 0" if dtype == "bool" else ""
            yield f"x{place}", f"  const {TYPES[dtype][0]} x{place} = {value}{test};"


def pointers(scope: Scope) -> Iterator[Definition]:
    """Name the memory: fields at index 0, arrays in their slots moved to index 0."""
    kernel = scope.kernel
    touched = arrays_of(kernel)
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            type_, name = stored_type(buffer), scope.buffers[buffer.name]
            yield name, f"  {type_}* const {name} = ({type_}*)ptrs[{name[1:]}];"
    for place in range(len(kernel.slots)):
        offset = "(char*)arena"
        if place:
            offset = f"{scope.slot(place - 1)} + {scope.bound(kernel.slots[place - 1])}"
        yield f"slot{place}", f"  char* const slot{place} = {offset};"
    for buffer in kernel.buffers:
        if buffer.memory == "arena":
            yield from array(scope, buffer)


def array(scope: Scope, buffer: Buffer) -> Iterator[Definition]:
    """Define an array of the arena, moved to index 0, and its strides."""
    yield from strides(scope, buffer)
    yield moved(scope, buffer, scope.slot(buffer.slot), {})


def moved(
    scope: Scope, buffer: Buffer, place: str, tile: Mapping[Dimension, str], indent: str = "  "
) -> Definition:
    """Define an array at a place in memory, moved to index 0; its box begins at that of a tile."""
    origin = ""
    for axis, range_ in enumerate(buffer.box):
        start = scope.bound(range_.start)
        if range_.dim in tile:
            first = tile[range_.dim]
            start = f"({first} + {start})" if start != "0" else first
        if range_.dim is not buffer.ring:
            origin += f" - {scope.term(buffer, axis, start)}"
    type_, name = stored_type(buffer), scope.buffers[buffer.name]
    return name, f"{indent}{type_}* const {name} = ({type_}*){place}{origin};"


def strides(scope: Scope, buffer: Buffer) -> Iterator[Definition]:
    """Define the strides of an array, rows of the innermost dimension first."""
    ranges = {range_.dim: range_ for range_ in buffer.box}
    step, inner = "1", ""
    order = buffer.order[::-1]
    for place, dim in enumerate(order):
        if place:
            count = _count(scope, ranges[order[place - 1]])
            step = count if step == "1" else f"{scope.ask(inner)} * {count}"
        inner = f"{scope.buffers[buffer.name]}s{buffer.dims.index(dim)}"
        if dim is not buffer.unit:
            yield inner, f"  const s64 {inner} = {step};"


def _count(scope: Scope, range_: Range) -> str:
    symbol, constant = split(extent(range_))
    return (
        str(constant)
        if symbol is None
        else f"({scope.bound(range_.stop)} - {scope.bound(range_.start)})"
    )
