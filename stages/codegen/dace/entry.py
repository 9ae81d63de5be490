"""Write the entry point of a library, which passes DaCe's program its arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ...ir.loops import Bound, Kernel, Stride
from ..cpu.text.threads import guard
from ..entry_point import UNUSED, entry_head
from ..rows import Scope, WriterOptions, cpp, memory, places_of, scalars, status
from .names import (
    SDFG_NAME,
    STATUS,
    GuardedStop,
    OnlyStatement,
    SdfgNames,
    TileCount,
)

_FOUND: Final = "  s32* const found = context->status ? context->status : &first;"
_WAIT: Final = (
    "  const s32 late = s32(gpuStreamSynchronize(state.stream));",
    "  if (state.error == 0) state.error = late;",
)


class Entry:
    """Writes the entry point of a kernel; `kernel` has the arrays left after DaCe's passes.

    `tests` are the tested stores of a checked program.
    """

    def __init__(
        self,
        kernel: Kernel,
        names: SdfgNames,
        ints: Sequence[Bound | Stride],
        tests: Mapping[tuple[int, str], int],
    ) -> None:
        self.names = names
        options = WriterOptions(0)
        self.scope = Scope(kernel, places_of(ints), options, cpp(options), tests=tests)
        given = self.scope.buffers
        self.data = {own: given[name] for name, own in names.data.items() if name in given}
        self.data |= {
            names.scalars[name]: f"x{place}" for place, (name, _) in enumerate(kernel.scalars)
        }
        self.data[STATUS] = "&first"

    def write(self, opening: Sequence[str], signature: Sequence[str]) -> list[str]:
        """Write the function: integers, scalars, pointers, and then the call.

        `signature` are the arguments in DaCe's order.
        """
        tests = self.scope.tests
        return [
            *entry_head(),
            *opening,
            *defined(self.scope),
            *([f"  s32 first = {len(tests)};"] if tests else []),
            UNUSED,
            self._call("nullptr", signature),
            f"  return {status(self.scope)};",
            "}",
        ]

    def write_for_gpu(
        self, opening: Sequence[str], signature: Sequence[str], *, is_host: bool, waits: bool
    ) -> list[str]:
        """Write the function for a GPU: it queues kernels, and returns the vendor's error or 0.

        A checked program leaves the first of its tested stores that failed in memory of the
        context; without that, on the host, it returns its status. If it `waits`, the kernels have
        ended. The lines of `opening` stand before the call of DaCe's program.
        """
        tests = self.scope.tests
        self.data[STATUS] = "found" if is_host else "context->status"
        returned = f"context->status ? 0 : {status(self.scope)}" if tests else "0"
        return [
            *entry_head(context="context"),
            *defined(self.scope),
            UNUSED,
            "  kernel_state_t state = {(gpuStream_t)context->stream, 0};",
            *([f"  s32 first = {len(tests)};", _FOUND] if tests and is_host else []),
            *opening,
            self._call("&state", signature),
            *(_WAIT if waits and not is_host else []),
            f"  return {returned if is_host else 'state.error'};",
            "}",
        ]

    def _call(self, state: str, signature: Sequence[str]) -> str:
        known = (self.data.get(name) or self._integer(name) for name in signature)
        return f"  __program_{SDFG_NAME}_internal({', '.join([state, *known])});"

    def _integer(self, symbol: str) -> str:
        match meaning := self.names.symbols[symbol]:
            case Stride(name=name, axis=axis):
                return self.scope.stride(self.scope.by_name[name], axis)
            case GuardedStop(start=start, stop=stop, guard=box):
                first, end = self.scope.bound(start), self.scope.bound(stop)
                return f"({guard(self.scope, box)} ? {end} : {first})"
            case TileCount(most=most):
                return f"(omp_get_max_threads() < {most} ? omp_get_max_threads() : {most})"
            case OnlyStatement():
                return f"ints[{len(self.scope.places)}]"  # see `step_place`
        return self.scope.bound(meaning)


def defined(scope: Scope) -> Iterator[str]:
    """Write the definitions of what a call passes: integers, scalars, memory."""
    yield from (
        *(f"  const s64 n{place} = ints[{place}];" for place in range(len(scope.places))),
        *(line for _, line in (*scalars(scope), *memory(scope))),
    )
