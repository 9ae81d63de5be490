"""The version of a program for calls whose soft reads lead out of a field, on a GPU: without DaCe.

It clamps the indices of loads (see `soft_reads`). Few calls need it, so it is one plain kernel of
the backend `gpu` for each nest, with a point or a column for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import attrs

from ....ir.bounds import Range, maximum
from ....ir.flat_kernel import Kernel
from ....ir.loops.lift import lift
from ....ir.nests import Nest
from ....vendors.vendor import Vendor
from ...cpu.text.kernel import WITHIN
from ...gpu.launches import MOST_BLOCKS
from ...gpu.passes.spreading import spread_lists
from ...gpu.text.grid import axes_of
from ...gpu.text.kernel import Written, write_version
from ...gpu.text.spellings import on_device
from ...integers import integers
from ...rows.checks import beyond
from ...rows.memory import pointers, scalars
from ...rows.names import Names, WriterOptions
from .opening import launched

if TYPE_CHECKING:
    from ..source import Plan

_NAMES = {"pointer": "p", "slot": "slot", "int": "n", "scalar": "x"}


class RareKernels:
    """The text of that version, empty where a program has no soft reads.

    A checked program refuses such calls. `integers` are those of the call: those of the kernel
    before DaCe's passes, and of the ends of fields.
    """

    def __init__(self, kernel: Kernel, plan: Plan, vendor: Vendor) -> None:
        clamping = plan.clamping
        self.kernel = spread_lists(kernel, plan.rules)
        self.integers = () if clamping is None else (*integers(lift(kernel)), *clamping.integers)
        self.vendor = vendor
        self.lines: list[str] = []
        self._functions: dict[str, str] = {}
        self.opening: list[str] = []
        if clamping is None:
            return
        flag = f"  if (ints[{clamping.flag}])"
        if plan.style.checked:
            self.opening = [f"{flag} return {beyond(kernel)};"]
            return
        options = WriterOptions(0, vector_math=False, own_math=plan.style.own_math)
        names = Names(self.kernel, self.integers, options)
        names.clamped = clamping.ends
        self.opening = [f"{flag} clamped(&state, ptrs, ints, scalars, arena);", "  else"]
        self.lines = [*self._written(names, plan)]
        self._functions = names.functions

    def functions(self, others: Mapping[str, str]) -> list[str]:
        """Return the functions that either version calls, each once."""
        both = {**self._functions, **{name: on_device(text) for name, text in others.items()}}
        within = [on_device(WITHIN)] if self.lines else []
        return [*within, *(text for _, text in sorted(both.items()))]

    def joined(self, kernel: Kernel) -> Kernel:
        """Return a kernel after DaCe's passes, with the integers and the memory that both need."""
        if not self.integers:
            return kernel
        most = kernel.workspace
        if self.lines:
            most = maximum(most, self.kernel.workspace)
        return attrs.evolve(self.kernel, tilings=kernel.tilings, workspace=most)

    def _written(self, names: Names, plan: Plan) -> Iterator[str]:
        """Write the kernels, and the function that launches them in order."""
        launches: list[str] = []
        for text, written in write_version(names, "c", self.vendor):
            yield _without_grid(text) if self.vendor.in_turn else text
            if self.vendor.in_turn:
                yield _on_host(written)
            nest = self.kernel.nests[written.first]
            launches += self._launch(names, nest, written, plan)
        yield "static void clamped(kernel_state_t* state, const void* const* ptrs, const s64* ints,"
        yield "                    const void* scalars, void* arena) {"
        yield "  (void)state, (void)ptrs, (void)ints, (void)scalars, (void)arena;"
        yield from (f"  const s64 n{i} = ints[{i}];" for i in range(len(self.integers)))
        yield from (*scalars(names), *pointers(names), *launches, "}")

    def _launch(self, names: Names, nest: Nest, written: Written, plan: Plan) -> Iterator[str]:
        given = [f"(void*)&{_NAMES[kind]}{place}" for kind, place in written.arguments]
        blocks = [_blocks(names, nest, axis) for axis in range(len(axes_of(nest)))]
        x, y, z = (*blocks, "1", "1", "1")[:3]
        tests = [_is_there(names, each) for each in nest.guard]
        if plan.steps:
            only = f"ints[{len(self.integers)}]"
            tests.append(f"(!{only} || {only} == {plan.steps[nest.statement]})")
        kernel = f"c{written.first}"
        yield f"  if ({' && '.join(tests) or 'true'}) {{"
        yield f"    void* args[] = {{{', '.join([*given, 'nullptr'])}}};"
        yield "    s64 first_y = 0, first_z = 0;"
        yield (
            f"    launch(state, {launched(self.vendor, kernel)}, Blocks{{{x}, {y}, {z}}}, "
            f"dim3({', '.join(map(str, _threads(nest)))}), args, 0, first_y, first_z);"
        )
        yield "  }"


def _threads(nest: Nest) -> tuple[int, int, int]:
    x, y, z = (*nest.block, 1, 1, 1)[:3]
    return x, y, z


def _is_there(names: Names, range_: Range) -> str:
    return f"{names.bound(range_.start)} < {names.bound(range_.stop)}"


def _blocks(names: Names, nest: Nest, place: int) -> str:
    """Return how many blocks a grid has; along y and z the threads of so many share all indices."""
    axis = axes_of(nest)[place]
    range_ = nest.loops[axis.level].range
    extent = f"later({names.bound(range_.stop)} - {names.bound(range_.start)}, 0)"
    count = f"({extent} + {axis.threads - 1}) / {axis.threads}"
    return f"earlier({count}, {MOST_BLOCKS})" if place else count


def _without_grid(text: str) -> str:
    """Return a kernel without the function by which the null platform runs a grid."""
    return text.partition('\nextern "C" void grid_of')[0]


def _on_host(written: Written) -> str:
    """Return the function that gives a thread its arguments."""
    types = written.types
    values = ", ".join(f"*({each}*)args[{place}]" for place, each in enumerate(types))
    kernel = f"c{written.first}"
    return f"static void thread_of_{kernel}(void** args) {{ (void)args; {kernel}({values}); }}"
