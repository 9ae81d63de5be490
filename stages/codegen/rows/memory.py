"""The head of the entry point in C++: scalar parameters, fields, and the arrays of the arena."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.flat_kernel import Buffer
from ...ir.nests import Argument
from ..arena import extent
from ..integers import buffers_of, split
from .names import Names, stored_type
from .operations import TYPES


def scalars(names: Names) -> Iterator[str]:
    """Read the scalar parameters that bodies use."""
    bodies = (row for nest in names.kernel.nests for row in nest.body)
    used = {row.name for row in bodies if isinstance(row, Argument)}
    for i, (name, dtype) in enumerate(names.kernel.scalars):
        if name in used:
            stored = TYPES["uint8" if dtype == "bool" else dtype][0]
            value = f"*(const {stored}*)((const char*)scalars + {8 * i})"
            test = " != 0" if dtype == "bool" else ""
            yield f"  const {TYPES[dtype][0]} x{i} = {value}{test};"


def pointers(names: Names) -> Iterator[str]:
    """Name the memory: fields at index 0, arrays in their slots moved to index 0."""
    kernel = names.kernel
    touched = {name for nest in kernel.nests for name in buffers_of(nest)}
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            type_, name = stored_type(buffer), names.buffers[buffer.name]
            yield f"  {type_}* const {name} = ({type_}*)ptrs[{name[1:]}];"
    offset = "(char*)arena"
    for place, size in enumerate(kernel.slots):
        yield f"  char* const slot{place} = {offset};"
        offset = f"slot{place} + {names.bound(size)}"
    for buffer in kernel.buffers:
        if buffer.memory == "arena":
            yield from strides(names, buffer)
            starts = {range_.dim: names.bound(range_.start) for range_ in buffer.box}
            origin = "".join(
                f" - {names.term(buffer, axis, starts[dim])}"
                for axis, dim in enumerate(buffer.dims)
            )
            type_ = stored_type(buffer)
            name = names.buffers[buffer.name]
            yield f"  {type_}* const {name} = ({type_}*)slot{buffer.slot}{origin};"


def own_slots(names: Names) -> Iterator[str]:
    """Name the slots of the tile arrays of one thread."""
    kernel = names.kernel
    places = sorted({buffer.slot for buffer in kernel.buffers if buffer.memory == "tile"})
    sizes = {place: f"{names.bound(kernel.slots[place])} / {kernel.threads}" for place in places}
    if places:
        of_one = " + ".join(sizes.values())
        offset = f"slot{places[0]} + place * ({of_one})"
    for place, size in sizes.items():
        yield f"  char* const own{place} = {offset};"
        offset = f"own{place} + {size}"


def strides(names: Names, buffer: Buffer) -> Iterator[str]:
    """Define the strides of an array, rows of the innermost dimension first."""
    name = names.buffers[buffer.name]
    ranges = {range_.dim: range_ for range_ in buffer.box}
    step = "1"
    for dim in reversed(buffer.order):
        axis = buffer.dims.index(dim)
        if dim is not buffer.unit:
            yield f"  const s64 {name}s{axis} = {step};"
        wide = names.bound(ranges[dim].stop) + " - " + names.bound(ranges[dim].start)
        symbol, constant = split(extent(ranges[dim]))
        count = str(constant) if symbol is None else f"({wide})"
        step = count if step == "1" else f"{name}s{axis} * {count}"
