"""The names of one kernel in DaCe's world, and the entry point that gives them their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir.loops import Argument, Buffer, Kernel, Load, Nest, Store
from ..cpp.memory import pointers, scalars
from ..cpp.names import Names as CppNames
from ..cpp.names import WriterOptions
from ..entry_point import UNUSED, entry_head
from ..integers import buffers_of, integers

SDFG_NAME = "kernel"  # never the user's: equal programs have equal text


class Names:
    """Arrays `p0`, `a0`, scalars `x0`, strides `n0`, bounds `lo0_1`, `hi0_1` of nest 0, loop 1."""

    def __init__(self, kernel: Kernel, parallel_from: int) -> None:
        self.kernel = kernel
        self.cpp = CppNames(kernel, integers(kernel), WriterOptions(parallel_from))

    def array(self, buffer: str) -> str:
        """Return the name of a field or of an array in the arena."""
        return self.cpp.buffers[buffer]

    def scalar(self, name: str) -> str:
        """Return the name of a scalar parameter."""
        return self.cpp.scalars[name]

    def touched(self) -> list[Buffer]:
        """Return the buffers that nests read or write, in the order of the kernel."""
        found = {name for nest in self.kernel.nests for name in buffers_of(nest)}
        return [buffer for buffer in self.kernel.buffers if buffer.name in found]

    def strides(self, buffer: Buffer) -> list[str]:
        """Return the stride of each axis: '1', or the name of an integer."""
        ahead = len("0 * ")
        terms = [self.cpp.term(buffer, axis, "0") for axis in range(len(buffer.dims))]
        return [term[ahead:] or "1" for term in terms]

    def used_scalars(self) -> list[tuple[str, str]]:
        """Return (name, dtype) of the scalar parameters that bodies use."""
        rows = [row for nest in self.kernel.nests for row in nest.body]
        used = {row.name for row in rows if isinstance(row, Argument)}
        return [(self.scalar(name), dtype) for name, dtype in self.kernel.scalars if name in used]

    def entry(self, name: str, opening: Sequence[str], call: Sequence[str]) -> Iterator[str]:
        """Write the entry point: integers, scalars, pointers, bounds, and then `call`."""
        yield from entry_head(name)
        yield from opening
        yield from (f"  const s64 n{i} = ints[{i}];" for i in range(len(self.cpp.places)))
        yield from scalars(self.cpp)
        yield from pointers(self.cpp)
        for index, nest in enumerate(self.kernel.nests):
            yield from self._bounds(index, nest)
        yield UNUSED
        yield from call
        yield "  return 0;"
        yield "}"

    def _bounds(self, index: int, nest: Nest) -> Iterator[str]:
        """Define the bounds of a nest; where its guard is empty, its outermost loop is, too."""
        bound = self.cpp.bound
        guard = [f"{bound(r.start)} < {bound(r.stop)}" for r in nest.guard]
        for level, loop in enumerate(nest.loops):
            start, stop = bound(loop.range.start), bound(loop.range.stop)
            if level == 0 and guard:
                stop = f"{' && '.join(guard)} ? {stop} : {start}"
            yield f"  const s64 lo{index}_{level} = {start};"
            yield f"  const s64 hi{index}_{level} = {stop};"


def connector(row: int, access: Load | Store) -> str:
    """Return what a tasklet calls the element that one of its rows loads or stores."""
    return f"{'l' if isinstance(access, Load) else 'o'}{row}"


def stored_type(dtype: str) -> str:
    """Return the NumPy name of an element in memory; a bool is a byte."""
    return "uint8" if dtype == "bool" else dtype
