"""Schedule a program for a CPU, make an SDFG of its loops, and let DaCe write the C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from ....runtime.fields.device import DeviceType
from ....runtime.process import classes
from ...option_kinds import BYTES, FLAG, option, whole
from ...target import CPU_TARGET, CpuTarget
from ..cpu.stage import FAST, FLAGS, VECTOR_MATH
from ..pass_list import PassName, without
from .sdfg_stage import SdfgStage

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..rows.options import WriterOptions
    from .loops import SdfgLoops, SdfgRules
    from .source import SdfgSource

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

    target: CpuTarget = option(CPU_TARGET, attrs.Factory(CpuTarget.host))
    parallel_from: int = option(whole(0, BYTES), 16384, tune=[0, 4096, 16384, 1 << 16])
    jam: bool = option(FLAG, True, tune=[False, True])
    prefetch: bool = option(FLAG, True, tune=[True, False])
    tiles: bool = option(FLAG, True, tune=[True, False])
    stream_from: int = option(whole(0, BYTES), STREAM_FROM, tune=[0, 1 << 20, 12 << 20])

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        from ..schedule.rules import Rules
        from .tasklet import Style

        is_contracted = self.numerics == "contract" and self.target.has_fma
        return self._sdfg_rules(
            Rules(self.target, arrays, self.inline, jam=self.jam, checked=self.checked),
            Style(
                vector_math=self.target.vector_math and self.numerics != "strict",
                own_math=self.mathematics == "own" and is_contracted,
                checked=self.checked,
            ),
            parallel_from=self.parallel_from,
            loop_passes=self._loop_passes(),
            strips=None if self.checked else self._strips(),
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

    def _strips(self) -> WriterOptions:
        from ..rows.options import WriterOptions

        streamed = self.stream_from or 1 << 62
        return WriterOptions(0, streamed, vector_bytes=self.target.vector_bytes)

    def _written(self, loops: SdfgLoops, rules: SdfgRules) -> SdfgSource:
        from .source import sdfg_source

        return sdfg_source(loops, rules)

    def _language(self) -> str:
        return "c++"

    def _flags(self, source: str) -> tuple[str, ...]:
        from ..rows.operations import DECLARATION
        from .source import ALONE, THREADS, WRAPPED

        libraries: tuple[str, ...] = VECTOR_MATH if DECLARATION in source else ()
        libraries += WRAPPED if ALONE in source else ()
        reordering = FAST if self.numerics == "fast" else ()
        return (*FLAGS, THREADS, *reordering, *self.target.flags, *libraries)

    def _device(self) -> DeviceType:
        return self.target.device
