"""Write the maps of an SDFG for a CPU: DaCe's target, with threads and vector loops of our own.

A map of an SDFG says which points it has, not how a processor walks them. This target writes the
maps around our tasklets: the size from which threads pay, and innermost loops in strips (see
`strips`). DaCe writes all the rest, and maps that a pass of the user has made.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from dace.codegen.common import sym2cpp
from dace.codegen.dispatcher import DefinedType
from dace.codegen.targets.cpp import cpp_ptr_expr
from dace.codegen.targets.cpu import CPUCodeGen
from dace.dtypes import ScheduleType
from dace.sdfg import has_dynamic_map_inputs
from dace.sdfg.nodes import Tasklet

from ....ir.loops import Nest
from ...cpu.text.simd import SIMD
from ...cpu.text.streams import stream_function
from ...rows import WriterOptions
from ..generators import Written, frame_of
from ..names import NEST, SdfgNames, words
from .strips import LANE, SdfgStrips, Target

_INDEX: Final = "int64_t"
Body: TypeAlias = Callable[[Any], None]  # writes what stands inside a map to a stream


def write_for_cpu(sdfg: Any, names: SdfgNames, options: WriterOptions) -> Written:
    """Let DaCe write an SDFG for a CPU."""
    frame = frame_of(sdfg)
    maps = CpuMaps(frame, sdfg, names, options)
    functions, program = frame.write(sdfg, maps)
    needed = f"{stream_function(options.vector_bytes)}\n" if maps.strips.streams else ""
    return Written(needed + functions + program, tuple(frame.arglist))


class CpuMaps(CPUCodeGen):  # type: ignore[misc]  # DaCe has no types
    """The target of one SDFG."""

    def __init__(self, frame: Any, sdfg: Any, names: SdfgNames, options: WriterOptions) -> None:
        super().__init__(frame, sdfg)
        self.names, self.options = names, options
        self.known = frozenset(frame.arglist)
        self.strips = SdfgStrips(names, options)
        self._staged: dict[tuple[Any, str], str] = {}  # the arrays of stores, by node and connector
        self._node: Any = None

    def generate_scope(
        self, sdfg: Any, cfg: Any, dfg_scope: Any, state_id: int, functions: Any, stream: Any
    ) -> None:
        """Write the loops of a map, of which the last one may have strips."""
        entry, nests = dfg_scope.source_nodes()[0], self._nests(dfg_scope)
        if not nests or has_dynamic_map_inputs(dfg_scope.graph, entry):
            super().generate_scope(sdfg, cfg, dfg_scope, state_id, functions, stream)
            return
        loops = entry.map
        pragmas = dict.fromkeys(self.names.lanes.intersection(loops.params[-1:]), SIMD)
        if loops.schedule == ScheduleType.CPU_Multicore:
            pragmas[loops.params[0]] = self._threads(loops, nests[-1])
        body = partial(self._body, sdfg, cfg, dfg_scope, state_id, functions)
        for name, (first, last, step) in zip(loops.params, loops.range.ranges, strict=True):
            loop, pragma = (name, sym2cpp(first), sym2cpp(last + 1)), pragmas.get(name, "")
            if pragma == SIMD and self._strips(dfg_scope, nests, loop, body, stream):
                break
            head = f"{_INDEX} {name} = {loop[1]}; {name} < {loop[2]}; {name} += {sym2cpp(step)}"
            stream.write(f"{pragma}\nfor ({head}) {{")
            self._define(name)
        else:
            body(stream)
        stream.write("}" * len(loops.params))

    def _nests(self, scope: Any) -> list[Nest]:
        """Return the nests of the tasklets in a map, in order."""
        nodes = (node for node, _ in scope.all_nodes_recursive() if isinstance(node, Tasklet))
        numbers = {int(node.location[NEST]) for node in nodes if NEST in node.location}
        return [self.names.nests[number] for number in sorted(numbers)]

    def _threads(self, loops: Any, nest: Nest) -> str:
        """Return the pragma of a map that threads share, if its nest has some size."""
        simd = " simd" if loops.params[0] in self.names.lanes else ""
        collapse = f" collapse({loops.collapse})" if loops.collapse > 1 else ""
        ends = (self.names.ends(nest, loop) for loop in nest.loops)
        counts = [f"({stop} - {start})" for start, stop in ends
                  if {*words(start), *words(stop)} <= self.known]  # fmt: skip
        limit = f" if ({' * '.join(counts)} >= {self.options.parallel_from})" if counts else ""
        return f"#pragma omp parallel for{simd}{collapse} schedule(static){limit}"

    def _define(self, index: str) -> None:
        defined = self._dispatcher.defined_vars
        defined.add(index, DefinedType.Scalar, _INDEX, allow_shadowing=True)  # else it may print

    def _body(
        self, sdfg: Any, cfg: Any, scope: Any, state_id: int, functions: Any, stream: Any
    ) -> None:
        """Write what stands inside a map; a second time, too."""
        entry = scope.source_nodes()[0]
        self._dispatcher.defined_vars.enter_scope(entry)
        self._frame.allocate_arrays_in_scope(sdfg, cfg, entry, functions, stream)
        self._dispatcher.dispatch_subgraph(
            sdfg, cfg, scope, state_id, functions, stream, skip_entry_node=True, skip_exit_node=True
        )
        self._frame.deallocate_arrays_in_scope(sdfg, cfg, entry, functions, stream)
        self._dispatcher.defined_vars.exit_scope(entry)

    # --- strips ---------------------------------------------------------------------------------

    def _strips(
        self, scope: Any, nests: Sequence[Nest], loop: tuple[str, str, str], body: Body, stream: Any
    ) -> bool:
        """Write the innermost loop in strips, but for its end, and tell whether it has some."""
        has = self._dispatcher.defined_vars.has
        targets = list(self._targets(scope, nests, loop[0]))
        text = None if self.options.checked else self.strips.written(nests, loop, targets, has)
        if text is None:
            return False
        self._define(loop[0])
        stream.write(text.before)
        self._staged = {each.store: f"k{n}" for n, each in enumerate(targets)}
        body(stream)
        self._staged = {}
        stream.write(text.between)
        body(stream)
        stream.write(text.after)
        return True

    def _targets(self, scope: Any, nests: Sequence[Nest], index: str) -> Iterator[Target]:
        """Yield the stores of a loop that non-temporal ones may take the place of."""
        rows = self.strips.streamed(nests, self._dispatcher.defined_vars.has)
        for node in scope.nodes():
            for edge in scope.graph.out_edges(node) if isinstance(node, Tasklet) else ():
                memlet = edge.data
                if memlet.data in rows and index in memlet.free_symbols and not memlet.dynamic:
                    first = copy.deepcopy(memlet)
                    first.replace({index: 0})
                    address = cpp_ptr_expr(scope.parent, first, DefinedType.Pointer, codegen=self)
                    yield Target((node, edge.src_conn), rows[memlet.data], address)

    def process_out_memlets(
        self, sdfg: Any, cfg: Any, state_id: int, node: Any, *others: Any, **options: Any
    ) -> None:
        """Write what a node gives to memory."""
        self._node = node
        super().process_out_memlets(sdfg, cfg, state_id, node, *others, **options)

    def make_ptr_assignment(self, src_expr: str, *others: Any, **options: Any) -> str:
        """Return the store of a connector: to the array of its strip, if it has one."""
        array = self._staged.get((self._node, src_expr))
        if array is not None:
            return f"{array}[{LANE}] = {src_expr};"
        return str(super().make_ptr_assignment(src_expr, *others, **options))
