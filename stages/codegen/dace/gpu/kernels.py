"""Write the kernels of an SDFG for a GPU: DaCe's target, with signatures and launches of our own.

DaCe's launches go to streams that all calls share. Those here take the stream of their call, and
slices of grids that are larger than vendors allow along y and z: a kernel gets the first block of
its slice. DaCe writes what a kernel does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dace.codegen.common import sym2cpp
from dace.codegen.prettycode import CodeIOStream
from dace.codegen.targets.cpu import CPUCodeGen
from dace.codegen.targets.cuda import CUDACodeGen
from dace.data import Scalar
from dace.symbolic import issymbolic

from .....runtime.process import classes
from ....vendors.vendor import Vendor
from ..generators import Written, frame_of, plain
from .opening import launched

SLICE: Final = ("first_y", "first_z")
_BLOCK: Final = "const Blocks blockIdx = block_of(first_y, first_z);"


def write_for_gpu(sdfg: Any, vendor: Vendor) -> Written:
    """Let DaCe write an SDFG for a GPU: kernels, and a program that launches them."""
    frame = frame_of(sdfg)
    on_host = CPUCodeGen(frame, sdfg)
    kernels = GpuKernels(frame, sdfg, vendor)
    functions, program = frame.write(sdfg, on_host, kernels)
    return Written(f"{functions}{kernels.text}static {program}", tuple(frame.arglist))


@classes.frozen
class _Kernel:
    """A kernel: its name, and by name the types of its arguments."""

    name: str
    types: Mapping[str, str]

    def head(self, bounds: str) -> str:
        """Return the line that begins it."""
        takes = (f"{type_} {name}" for name, type_ in self.types.items())
        return f"__global__ void {bounds} {self.name}({', '.join(takes)}) {{"

    def on_host(self) -> str:
        """Return the function that gives a thread its arguments."""
        values = (f"*({type_}*)args[{n}]" for n, type_ in enumerate(self.types.values()))
        call = f"{self.name}({', '.join(values)});"
        return f"static void thread_of_{self.name}(void** args) {{\n{call}\n}}"

    def launch(self, vendor: Vendor, grid: str, block: str) -> Iterator[str]:
        """Return the lines that launch it; the arguments are variables there."""
        given = ", ".join(f"(void*)&{name}" for name in self.types)
        yield from (
            "{",
            f"s64 {' = 0, '.join(SLICE)} = 0;",
            f"void* args[] = {{{given}}};",
            f"launch(__state, {launched(vendor, self.name)}, Blocks{{{grid}}}, dim3({block}), "
            f"args, 0, {', '.join(SLICE)});",
            "}",
        )


class GpuKernels(CUDACodeGen):  # type: ignore[misc]  # DaCe has no types
    """The target of one SDFG."""

    def __init__(self, frame: Any, sdfg: Any, vendor: Vendor) -> None:
        super().__init__(frame, sdfg)
        self.vendor = vendor

    @property
    def text(self) -> str:
        """Functions on the device, and kernels."""
        return plain(self._globalcode.getvalue() + self._localcode.getvalue())

    def preprocess(self, sdfg: Any) -> None:
        """Collect the arguments of kernels; DaCe takes symbols in strides for 32-bit integers."""
        super().preprocess(sdfg)
        declared = {name: Scalar(dtype) for name, dtype in sdfg.symbols.items()}
        for arguments in (self._frame.arglist, *self._arglists.values()):
            arguments.update({name: declared[name] for name in arguments if name in declared})

    def generate_scope(
        self, sdfg: Any, cfg: Any, dfg_scope: Any, state_id: int, function_stream: Any, stream: Any
    ) -> None:
        """Write a map: as a kernel and its launch, or inside a kernel."""
        if self._kernel_map is not None:
            super().generate_scope(sdfg, cfg, dfg_scope, state_id, function_stream, stream)
            return
        entry, state = dfg_scope.source_nodes()[0], cfg.state(state_id)
        grid, block, *of_threads, _ = self.get_kernel_dimensions(dfg_scope)
        place = f"{cfg.cfg_id}_{state.block_id}_{state.node_id(entry)}"
        kernel = _Kernel(f"{entry.map.label}_{place}", self._types(state, entry))
        body = CodeIOStream()
        self._dispatcher.defined_vars.enter_scope(entry)
        for name in kernel.types.keys() & sdfg.arrays.keys():  # what nested SDFGs are given
            kind, _ = self._dispatcher.defined_vars.get(name)
            self._dispatcher.defined_vars.add(name, kind, kernel.types[name], allow_shadowing=True)
        self.generate_kernel_scope(
            sdfg, cfg, dfg_scope, state_id, entry.map, kernel.name, grid, block, *of_threads,
            list(kernel.types), self._globalcode, body,
        )  # fmt: skip
        self._dispatcher.defined_vars.exit_scope(entry)
        self._localcode.write(kernel.head(_bounds(entry.map, block)))
        if len(entry.map.params) > 1:
            self._localcode.write(_BLOCK)
        self._localcode.write(body.getvalue())  # DaCe closes the kernel with its map
        if self.vendor.in_turn:
            self._localcode.write(kernel.on_host())
        dims = (", ".join(map(sym2cpp, each)) for each in (grid, block))
        stream.write("\n".join(kernel.launch(self.vendor, *dims)))

    def _types(self, state: Any, entry: Any) -> dict[str, str]:
        """Return the types of a kernel's arguments; what it does not write is constant."""
        written = {edge.data.data for edge in state.out_edges(state.exit_node(entry))}
        read = {edge.data.data for edge in state.in_edges(entry)}
        types = {name: desc.as_arg(name="").strip() for name, desc in self._arglists[entry].items()}
        for name in types.keys() & (read - written):
            types[name] = f"const {types[name]}"
        return types | dict.fromkeys(SLICE, "s64")


def _bounds(kernel: Any, block: Any) -> str:
    """Return what the compiler is told of the threads of a block."""
    if kernel.gpu_maxnreg:
        return f"__maxnreg__({kernel.gpu_maxnreg})"
    bounds = kernel.gpu_launch_bounds
    if bounds == "0":
        bounds = "-1" if any(map(issymbolic, block)) else str(math.prod(block))
    return "" if bounds == "-1" else f"__launch_bounds__({bounds})"
