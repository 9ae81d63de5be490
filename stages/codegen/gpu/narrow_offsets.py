"""Columns whose threads find elements by offsets of 32 bits, in calls whose fields allow it.

An address in 64 bits takes several instructions for each axis, and two registers. Such a kernel
reads strides once for all fields with the same dimensions, and a thread has one point of a grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ....runtime.process import classes
from ...ir.loops import (
    Bound,
    Column,
    Const,
    DomainSymbol,
    Kernel,
    Stride,
    add,
    arrays_of,
    floor_divide,
    greatest,
    maximum,
    minimum,
    multiply,
    subtract,
)
from .kernels import ALWAYS, KernelPart
from .text.grid import MOST_BLOCKS, blocks_of

NEVER: Final[Bound] = Const(0)
MOST_ELEMENTS: Final = Const(2**31)


def with_narrow_offsets(tree: Kernel, parts: Iterable[KernelPart]) -> Iterator[KernelPart]:
    """Yield parts, columns twice: with narrow offsets, and for calls that need wide ones."""
    for part in parts:
        narrow = _alike(tree, part.node) if isinstance(part.node, Column) else {}
        if narrow:
            wide = minimum(ALWAYS, greatest(_excesses(tree, part, narrow)))
            factors = subtract(ALWAYS, wide), *part.factors
            yield classes.evolve(part, factors=factors, narrow=narrow)
        yield classes.evolve(part, factors=(wide, *part.factors)) if narrow else part


def _alike(tree: Kernel, column: Column) -> dict[str, str]:
    """Return the fields of a column, each with the first one that has the same dimensions."""
    touched, first = arrays_of(column), dict[object, str]()
    return {
        each.name: first.setdefault((each.dims, each.unit), each.name)
        for each in tree.buffers
        if each.memory == "field" and each.name in touched
    }


def _excesses(tree: Kernel, part: KernelPart, narrow: Mapping[str, str]) -> Iterator[Bound]:
    """Yield numbers that are positive in calls that need wide offsets, and else 0."""
    for blocks in blocks_of(part.first)[1:]:
        yield floor_divide(blocks, Const(MOST_BLOCKS + 1))
    for own in (each for each in tree.buffers if each.name in narrow):
        total = NEVER  # of elements that may lie between index 0 and another one
        for axis, dim in enumerate(own.dims):
            start, stop = (DomainSymbol(end, own.name, dim) for end in ("start", "stop"))
            stride, first = (
                ALWAYS if dim is own.unit else Stride(name, axis)
                for name in (own.name, narrow[own.name])
            )
            reach = maximum(stop, multiply(start, -1))
            total = add(total, multiply(reach, _size(stride)))
            yield _size(subtract(stride, first))
        yield floor_divide(total, MOST_ELEMENTS)


def _size(bound: Bound) -> Bound:
    return maximum(bound, multiply(bound, -1))
