"""Write the entry point of a library, which passes DaCe's program its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir.bounds import Bound, Range
from ...ir.loops.flat import flat
from ...ir.loops.kernel import Kernel
from ...ir.strides import Stride
from ..entry_point import UNUSED, entry_head
from ..rows.memory import pointers, scalars
from ..rows.names import Names as CppNames
from ..rows.names import WriterOptions
from .names import SDFG_NAME, ArrayStride, GuardedStop, Meaning, OnlyStatement, SdfgNames, TileCount
from .tasklet import STATUS


class Entry:
    """Writes the entry point of a kernel; `kernel` has the arrays left after DaCe's passes."""

    def __init__(self, kernel: Kernel, names: SdfgNames, ints: Sequence[Bound | Stride]) -> None:
        self.names = names
        self.cpp = CppNames(flat(kernel), ints, WriterOptions(0))
        buffers = {buffer.name for buffer in kernel.buffers}
        self.data = {
            names.data[name]: self.cpp.buffers[name] for name in names.data if name in buffers
        }
        self.data |= {names.scalars[name]: x for name, x in self.cpp.scalars.items()}
        self.data[STATUS] = "&first"

    def write(
        self, opening: Sequence[str], signature: Sequence[str], head: Sequence[str], status: str
    ) -> Iterator[str]:
        """Write the function: integers, scalars, pointers, and then the call.

        `signature` are the arguments in DaCe's order; `head` defines the names in them.
        """
        yield from entry_head()
        yield from opening
        yield from (f"  const s64 n{i} = ints[{i}];" for i in range(len(self.cpp.places)))
        yield from scalars(self.cpp)
        yield from pointers(self.cpp)
        yield from head
        yield UNUSED
        arguments = ", ".join(["handle.state", *map(self._argument, signature)])
        yield f"  __program_{SDFG_NAME}({arguments});"
        yield f"  return {status};"
        yield "}"

    def write_for_gpu(
        self,
        signature: Sequence[str],
        *,
        tested: int,
        is_host: bool,
        waits: bool,
        status: str,
        rare: Sequence[str] = (),
    ) -> Iterator[str]:
        """Write the function for a GPU: it queues kernels, and returns the vendor's error or 0.

        A checked program leaves the first of its `tested` stores that failed in memory of the
        context; without that, on the host, it returns `status`. If it `waits`, the kernels have
        ended. The lines `rare` stand before the call of DaCe's program.
        """
        self.data[STATUS] = "found" if is_host else "context->status"
        yield from entry_head(context="context")
        yield from (f"  const s64 n{i} = ints[{i}];" for i in range(len(self.cpp.places)))
        yield from scalars(self.cpp)
        yield from pointers(self.cpp)
        yield UNUSED
        yield "  kernel_state_t state = {(gpuStream_t)context->stream, 0};"
        if tested and is_host:
            yield f"  s32 first = {tested};"
            yield "  s32* const found = context->status ? context->status : &first;"
        arguments = ", ".join(["&state", *map(self._argument, signature)])
        yield from rare
        yield f"  __program_{SDFG_NAME}_internal({arguments});"
        if waits and not is_host:
            yield "  const s32 late = s32(gpuStreamSynchronize(state.stream));"
            yield "  if (state.error == 0) state.error = late;"
        returned = f"context->status ? 0 : {status}" if tested else "0"
        yield f"  return {returned if is_host else 'state.error'};"
        yield "}"

    def _argument(self, name: str) -> str:
        return self.data[name] if name in self.data else self._integer(self.names.symbols[name])

    def _integer(self, meaning: Meaning) -> str:
        match meaning:
            case Stride():
                return f"n{self.cpp.places[meaning]}"
            case ArrayStride(buffer=buffer, axis=axis):
                return f"{self.cpp.buffers[buffer]}s{axis}"
            case GuardedStop(start=start, stop=stop, guard=guard):
                test = " && ".join(self._is_there(each) for each in guard)
                return f"({test} ? {self.cpp.bound(stop)} : {self.cpp.bound(start)})"
            case TileCount(most=most):
                return f"(omp_get_max_threads() < {most} ? omp_get_max_threads() : {most})"
            case OnlyStatement():
                return f"ints[{len(self.cpp.places)}]"  # see `step_place`
        return self.cpp.bound(meaning)

    def _is_there(self, range_: Range) -> str:
        return f"{self.cpp.bound(range_.start)} < {self.cpp.bound(range_.stop)}"
