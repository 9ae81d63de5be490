"""Schedule a program for a CPU, make an SDFG of its loops, and let DaCe write the C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ....runtime.process import DeviceType, classes
from ... import BYTES, CPU_TARGET, FLAG, CpuTarget, Generated, option, whole
from ..cpu.stage import FAST, FLAGS, VECTOR_MATH
from ..pass_list import PassName, without
from .sdfg_stage import SdfgStage

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from .generators import Written
    from .loops import SdfgRules
    from .names import SdfgNames
    from .source import DaceText

BACKEND = "dace_cpu"
STREAM_FROM = 12 << 20  # bytes


@classes.frozen
class CodegenDace(SdfgStage):
    """Choose loops and temporaries for `target`, and let DaCe write their C++.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread.
        jam: whether unroll-and-jam may compute several rows of a stencil together.
        prefetch: whether the code prefetches rows.
        tiles: whether scans that hand arrays on run row by row, where nothing else is needed of
            neighbouring rows.
        stream_from: calls that touch this many bytes write outputs that they do not read with
            non-temporal stores; 0 never does.

    """

    name: ClassVar[str] = "codegen_dace"
    backend: ClassVar[str] = BACKEND

    target: CpuTarget = option(CPU_TARGET, factory=CpuTarget.host)
    parallel_from: int = option(whole(0, BYTES), 16384, tune=[0, 4096, 16384, 1 << 16])
    jam: bool = option(FLAG, True, tune=[False, True])
    prefetch: bool = option(FLAG, True, tune=[True, False])
    tiles: bool = option(FLAG, True, tune=[True, False])
    stream_from: int = option(whole(0, BYTES), STREAM_FROM, tune=[0, 1 << 20, 12 << 20])

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        from ..pass_list import Rules
        from ..rows.options import WriterOptions
        from .loops import SdfgRules

        is_contracted = self.numerics == "contract" and self.target.has_fma
        return SdfgRules(
            Rules(self.target, arrays, self.inline, jam=self.jam, checked=self.checked),
            WriterOptions(
                parallel_from=self.parallel_from,
                stream_from=self.stream_from or 1 << 62,
                vector_bytes=self.target.vector_bytes,
                vector_math=self.target.vector_math and self.numerics != "strict",
                own_math=self.mathematics == "own" and is_contracted,
                checked=self.checked,
            ),
            self,
            self._loop_passes(),
        )

    def _loop_passes(self) -> tuple[PassName, ...]:
        from .arrangement import of_threads

        left_out = {
            "tile": not self.tiles or self.checked or self.fusion == "dace",
            "stream": not self.stream_from,
            "prefetch": not self.prefetch,
        }
        passes = ("tile", "stream", "prefetch", of_threads, "plan_arena")
        return without(passes, *(name for name, is_out in left_out.items() if is_out))

    def _write(self, rules: SdfgRules, sdfg: Any, names: SdfgNames) -> Written:
        from .cpu.maps import write_for_cpu

        return write_for_cpu(sdfg, names, rules.writer)

    def _generated(self, text: DaceText, rules: SdfgRules) -> Generated:
        from ..rows.operations import DECLARATION
        from .source import ALONE, THREADS, WRAPPED, sdfg_source

        source = sdfg_source(text, rules)
        libraries: tuple[str, ...] = VECTOR_MATH if DECLARATION in source else ()
        libraries += WRAPPED if ALONE in source else ()
        reordering = FAST if self.numerics == "fast" else ()
        flags = (*FLAGS, THREADS, *reordering, *self.target.flags, *libraries)
        return Generated("c++", source, text.listing, flags)

    def _device(self) -> DeviceType:
        return self.target.device
