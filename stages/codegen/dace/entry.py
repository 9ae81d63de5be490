"""Write the entry point of a library, which passes DaCe's program its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...ir.bounds import Bound, Range
from ...ir.loops.kernel import Kernel
from ...ir.strides import Stride
from ..entry_point import UNUSED, entry_head
from ..rows.definitions import pointers, scalars
from ..rows.dialect import cpp
from ..rows.options import WriterOptions
from ..rows.scope import Scope, places_of
from .names import (
    SDFG_NAME,
    STATUS,
    ArrayStride,
    GuardedStop,
    Meaning,
    OnlyStatement,
    SdfgNames,
    TileCount,
)


class Entry:
    """Writes the entry point of a kernel; `kernel` has the arrays left after DaCe's passes."""

    def __init__(self, kernel: Kernel, names: SdfgNames, ints: Sequence[Bound | Stride]) -> None:
        self.names = names
        options = WriterOptions(0)
        self.scope = Scope(kernel, places_of(ints), options, cpp(options))
        given = self.scope.buffers
        self.data = {own: given[name] for name, own in names.data.items() if name in given}
        self.data |= {
            names.scalars[name]: f"x{place}" for place, (name, _) in enumerate(kernel.scalars)
        }
        self.data[STATUS] = "&first"

    def write(
        self, opening: Sequence[str], signature: Sequence[str], head: Sequence[str], status: str
    ) -> Iterator[str]:
        """Write the function: integers, scalars, pointers, and then the call.

        `signature` are the arguments in DaCe's order; `head` defines the names in them.
        """
        yield from entry_head()
        yield from opening
        yield from defined(self.scope)
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
        yield from defined(self.scope)
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
                return self.scope.integer(meaning)
            case ArrayStride(buffer=buffer, axis=axis):
                return f"{self.scope.buffers[buffer]}s{axis}"
            case GuardedStop(start=start, stop=stop, guard=guard):
                test = " && ".join(self._is_there(each) for each in guard)
                return f"({test} ? {self.scope.bound(stop)} : {self.scope.bound(start)})"
            case TileCount(most=most):
                return f"(omp_get_max_threads() < {most} ? omp_get_max_threads() : {most})"
            case OnlyStatement():
                return f"ints[{len(self.scope.places)}]"  # see `step_place`
        return self.scope.bound(meaning)

    def _is_there(self, range_: Range) -> str:
        return f"{self.scope.bound(range_.start)} < {self.scope.bound(range_.stop)}"


def defined(scope: Scope) -> Iterator[str]:
    """Write the definitions of what a call passes: integers, scalars, memory."""
    yield from (f"  const s64 n{place} = ints[{place}];" for place in range(len(scope.places)))
    yield from (line for _, line in (*scalars(scope), *pointers(scope)))
