"""Memory that loops read and write: fields, tables, arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal as OneOf

from ....runtime.language import Dimension
from ....runtime.process import classes
from ..bounds import Bound, Const, Range, Ranges, add, maximum, multiply, subtract

# The bytes of an element in memory.
ITEMSIZES: Final[Mapping[str, int]] = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8, "uint64": 8, "float32": 4, "float64": 8,
}  # fmt: skip


@classes.frozen
class Buffer:
    """Memory that nests read and write; tables are read-only.

    `unit` is the dimension whose stride is one element. An arena array has the index range `box`
    and the memory order `order` (outer to inner). So does a tile array; its indices along the
    dimensions of its tiling count from the start of the tile. Of the dimension `ring` it keeps the
    last indices: index i lies at i modulo the extent of the box, a power of two. An array `over`
    another one has its slot and its box: what fills it has read each row of the other one before.
    A shared array is never in memory, only in shared memory of a GPU.
    """

    name: str
    memory: OneOf["field", "table", "arena", "tile", "shared"]
    dtype: str
    dims: tuple[Dimension, ...]
    unit: Dimension | None = None
    box: Ranges = ()
    order: tuple[Dimension, ...] = ()
    slot: int = -1
    reason: str = ""
    ring: Dimension | None = None
    over: str = ""


def empty_where(buffer: Buffer, besides: Dimension | None, when: Bound) -> Buffer:
    """Return an array that has no elements in calls where `when` is 1.

    The outermost of its dimensions is cut that is not `besides`.
    """
    ranges = {range_.dim: range_ for range_ in buffer.box}
    cut = ranges[next(dim for dim in buffer.order if dim is not besides)]
    extent = maximum(subtract(cut.stop, cut.start), Const(0))
    left = multiply(extent, subtract(Const(1), when))
    ranges[cut.dim] = Range(cut.dim, cut.start, add(cut.start, left))
    return classes.evolve(buffer, box=tuple(ranges.values()))
