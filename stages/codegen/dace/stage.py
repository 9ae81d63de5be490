"""Schedule a program for a CPU, make an SDFG of its loops, and let DaCe write the C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs

from ....runtime.process import classes
from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import VALUES, Artifact
from ...numerics import EXACTNESS, FUNCTIONS
from ...option_kinds import BYTES, FLAG, SECONDS, TEXTS, VALUE_NAMES, option, whole
from ...target import CPU_TARGET, CpuTarget
from ..cpu.stage import FAST, FLAGS, VECTOR_MATH
from ..pass_list import PassName, without
from .pass_list import DACE_PASSES, FUSION, FUSIONS, SDFG_PASSES, SdfgPass
from .sdfg_stage import SdfgStage
from .settings import dace_version

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..rows.names import WriterOptions
    from .source import Plan

BACKEND = "dace_cpu"
STREAM_FROM = 12 << 20  # bytes


@classes.frozen
class CodegenDace(SdfgStage):
    """Choose loops and temporaries for `target`, and let DaCe write their C++.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread.
        arrays: values (as in '%12') that become arrays, against the cost model.
        inline: values that are recomputed at each use, against the cost model.
        jam: whether unroll-and-jam may compute several rows of a stencil together.
        prefetch: whether the code prefetches rows.
        tiles: whether scans that hand arrays on run row by row, where nothing else is needed of
            neighbouring rows.
        stream_from: calls that touch this many bytes write outputs that they do not read with
            non-temporal stores; 0 never does.
        numerics: 'strict', 'contract' or 'fast', as for the backend 'cpu'.
        mathematics: 'own' or 'library', as for the backend 'cpu'.
        fusion: 'schedule' lets our cost model choose the values that become arrays; with 'dace'
            every used value becomes one, and DaCe's passes fuse the maps.
        auto_optimize: whether the passes run.
        passes: DaCe's transformations in their order: names of ours, functions of the user's.
        blocking_dims: names of the dimensions that pass 'block' cuts.
        blocking_size: how many indices a block has.
        unroll_scans: how often pass 'unroll_scans' unrolls loops over levels; not at all if 0.
        most_applications: a pass that is applied more often is undone, with a warning.
        most_nodes: a pass that leaves more nodes is undone, with a warning.
        pass_seconds: a function in `passes` that takes longer ends the build; 0 is no limit.
        gt4py_hooks: names of functions in `passes` that were written for SDFGs of gt4py; one that
            fails on ours is left out, with a warning.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.

    """

    name: ClassVar[str] = "codegen_dace"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    target: CpuTarget = option(CPU_TARGET, attrs.Factory(CpuTarget.host))
    parallel_from: int = option(whole(0, BYTES), 16384, tune=[0, 4096, 16384, 1 << 16])
    arrays: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    inline: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    jam: bool = option(FLAG, True, tune=[False, True])
    prefetch: bool = option(FLAG, True, tune=[True, False])
    tiles: bool = option(FLAG, True, tune=[True, False])
    stream_from: int = option(whole(0, BYTES), STREAM_FROM, tune=[0, 1 << 20, 12 << 20])
    numerics: str = option(EXACTNESS, "contract")
    mathematics: str = option(FUNCTIONS, "own")
    fusion: str = option(FUSION, "schedule", tune=FUSIONS)
    auto_optimize: bool = option(FLAG, True)
    passes: tuple[SdfgPass, ...] = option(SDFG_PASSES, DACE_PASSES)
    blocking_dims: tuple[str, ...] = option(TEXTS, ())
    blocking_size: int = option(whole(1), 10, tune=[4, 10, 32])
    unroll_scans: int = option(whole(0, 1024), 0, tune=[0, 2, 4])
    most_applications: int = option(whole(), 1000)
    most_nodes: int = option(whole(), 100_000)
    pass_seconds: float = option(SECONDS, 600.0, eq=False)
    gt4py_hooks: tuple[str, ...] = option(TEXTS, ())
    checked: bool = option(FLAG, False)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and the interface."""
        from ...ir.loops.lift import lift
        from ..interface import describe
        from ..rows.checks import statuses
        from ..rows.operations import DECLARATION
        from .source import ALONE, THREADS, WRAPPED, sdfg_source

        kernel, groups, plan = self._planned(lowered, variant)
        written = sdfg_source(kernel, plan)
        libraries: tuple[str, ...] = VECTOR_MATH if DECLARATION in written.source else ()
        libraries += WRAPPED if ALONE in written.source else ()
        reordering = FAST if self.numerics == "fast" else ()
        flags = (*FLAGS, THREADS, *reordering, *self.target.flags, *libraries)
        # a call with `domain=` compares the domains, not the ranges of the fields
        alike = () if variant.domain else variant.alike
        interface = describe(
            lowered.program,
            lift(written.kernel),
            groups,
            BACKEND,
            self.target.device,
            alike,
            statuses(written.kernel, written.clamping) if self.checked else (),
            clamping=written.clamping,
            in_steps=True,
        )
        return {
            "generated": Generated("c++", written.source, written.listing, flags),
            "interface": attrs.evolve(interface, workspace=written.kernel.workspace),
        }

    def _plan(self, lowered: Lowered) -> Plan:
        from ..schedule.rules import Rules
        from .passes import Settings
        from .source import Plan
        from .tasklet import Style

        dace_version()  # the error says how to install DaCe
        arrays = self._arrays(lowered, self.arrays, self.fusion)
        is_contracted = self.numerics == "contract" and self.target.has_fma
        return Plan(
            Rules(self.target, arrays, self.inline, jam=self.jam, checked=self.checked),
            Style(
                vector_math=self.target.vector_math and self.numerics != "strict",
                own_math=self.mathematics == "own" and is_contracted,
                checked=self.checked,
            ),
            self.passes if self.auto_optimize else (),
            self.blocking_dims,
            Settings(
                block_size=self.blocking_size,
                unroll=self.unroll_scans,
                most_applications=self.most_applications,
                most_nodes=self.most_nodes,
                gt4py_hooks=self.gt4py_hooks,
                seconds=self.pass_seconds,
            ),
            self.parallel_from,
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
        from ..rows.names import WriterOptions

        streamed = self.stream_from or 1 << 62
        return WriterOptions(0, streamed, vector_bytes=self.target.vector_bytes)
