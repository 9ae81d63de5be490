"""The C++ names of everything in a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.bounds import Bound, Const, difference
from ...ir.flat_kernel import Buffer
from ...ir.nests import Load, Nest, Store
from ...ir.strides import Stride
from ..integers import split
from ..schedule.costs import ITEMSIZES
from ..soft_reads import Ends
from .options import Steps, WriterOptions
from .scope import stored_type

__all__ = ["Names", "Steps", "WriterOptions", "stored_type"]


class Names:
    """The names of one kernel, and the inline functions that its expressions call."""

    def __init__(
        self, kernel: Any, known: Sequence[Bound | Stride], options: WriterOptions
    ) -> None:
        self.kernel = kernel
        self.options = options
        self.places = {source: i for i, source in enumerate(known)}
        self.functions: dict[str, str] = {}
        self.by_name = {buffer.name: buffer for buffer in kernel.buffers}
        fields = [buffer for buffer in kernel.buffers if buffer.memory == "field"]
        tables = [buffer for buffer in kernel.buffers if buffer.memory == "table"]
        arrays = [buffer for buffer in kernel.buffers if buffer.memory in ("arena", "tile")]
        self.buffers = {buffer.name: f"p{i}" for i, buffer in enumerate([*fields, *tables])}
        self.buffers |= {buffer.name: f"a{i}" for i, buffer in enumerate(arrays)}
        # number of each tested store, by group of stores and buffer
        self.tests: dict[tuple[int, str], int] = {}
        self.steps: Steps | None = None
        self.clamped: Ends = {}  # fields whose loads stay inside
        self.scalars = {name: f"x{i}" for i, (name, _) in enumerate(kernel.scalars)}

    def bound(self, bound: Bound) -> str:
        """Return a bound as an expression that needs no brackets around it."""
        symbol, constant = split(bound)
        if symbol is None:
            return str(constant)
        name = f"n{self.places[symbol]}"
        return name if not constant else f"({name} {'+' if constant > 0 else '-'} {abs(constant)})"

    def term(self, buffer: Buffer, axis: int, index: str) -> str:
        """Return an index times the stride of its axis."""
        dim = buffer.dims[axis]
        if dim is buffer.unit:
            return index
        if dim is buffer.ring:
            last = difference(buffer.box[axis].stop, Const(1))
            index = f"({index} & {last})"
        if buffer.memory in ("arena", "tile"):
            return f"{index} * {self.buffers[buffer.name]}s{axis}"
        return f"{index} * n{self.places[Stride(buffer.name, axis)]}"

    def inside(self, buffer: Buffer, axis: int, index: str) -> str:
        """Return an index of a load, clamped to the field if loads from it are."""
        if buffer.name not in self.clamped:
            return index
        start, stop = self.clamped[buffer.name][axis]
        return f"within({index}, {self.bound(start)}, {self.bound(stop)})"

    def is_far(self, nest: Nest) -> str:
        """Return the test that a call touches more bytes of fields than the caches hold.

        The test takes each field to be as large as the domain of the nest.
        """
        bodies = (row for each in self.kernel.nests for row in each.body)
        touched = {row.buffer for row in bodies if isinstance(row, Load | Store)}
        whole = [
            buffer
            for buffer in self.kernel.buffers
            if buffer.name in touched
            and buffer.memory == "field"
            and all(loop.range.dim in buffer.dims for loop in nest.loops)
        ]
        size = sum(ITEMSIZES[buffer.dtype] for buffer in whole)
        known = self.options.stream_from
        return f"{self.points(nest)} * {size} >= {'far' if known is None else known}"

    def leaves_core(self, nest: Nest) -> str:
        """Return the test that a nest touches more bytes than the second cache of a core holds.

        The test takes each buffer to be as large as the domain of the nest.
        """
        touched = {row.buffer for row in nest.body if isinstance(row, Load | Store)}
        inner = nest.loops[-1].range.dim
        buffers = [self.by_name[name] for name in touched]
        size = sum(ITEMSIZES[buffer.dtype] for buffer in buffers if inner in buffer.dims)
        return f"{self.points(nest)} * {size} > {self.options.core_memory}"

    def points(self, nest: Nest) -> str:
        """Return the number of points of a nest."""
        return " * ".join(f"({self.bound(r.stop)} - {self.bound(r.start)})" for r in nest.box)
