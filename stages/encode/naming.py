"""What the nests of a kernel share: buffers, and the places of integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..codegen.interface import split
from ..ir.loops import (
    Argument,
    Bound,
    Buffer,
    Constant,
    Kernel,
    Load,
    Nest,
    Number,
    Range,
    Store,
    Stride,
    arrays_of,
)
from .program import Count, Span

CALL: Final = (Constant, Argument, Number)  # rows whose values the call knows


@classes.frozen
class Naming:
    """What the nests of a kernel share: buffers, and the places of integers and scalars."""

    kernel: Kernel
    ints: Mapping[Bound | Stride, int]
    own_functions: bool
    numbers: Mapping[str, int] = classes.field(init=False)

    @numbers.default
    def _numbers(self) -> dict[str, int]:
        return {each.name: number for number, each in enumerate(self.kernel.buffers)}

    def count(self, bound: Bound) -> Count:
        """Return a bound as an integer of the call and a constant."""
        symbol, constant = split(bound)
        return (-1 if symbol is None else self.ints[symbol], constant)

    def span(self, range_: Range) -> Span:
        """Return the ends of a range."""
        return self.count(range_.start), self.count(range_.stop)

    def buffer(self, name: str) -> tuple[int, Buffer]:
        """Return the number of a buffer, and the buffer."""
        number = self.numbers[name]
        return number, self.kernel.buffers[number]

    def may_meet(self, load: Load, store: Store) -> bool:
        """Tell whether a store may write what a load reads: calls let inputs be outputs."""
        _, read = self.buffer(load.buffer)
        _, written = self.buffer(store.buffer)
        are_fields = read.memory == written.memory == "field"
        is_alike = (read.dtype, read.dims) == (written.dtype, written.dims)
        return read is written or (are_fields and is_alike)

    def rings_of(self, nest: Nest) -> frozenset[Dimension]:
        """Return the dimensions of which arrays that a nest touches keep the last indices."""
        rings = (self.buffer(name)[1].ring for name in arrays_of(nest))
        return frozenset(ring for ring in rings if ring is not None)
