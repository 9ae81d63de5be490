"""Schedule a program for a GPU, make an SDFG of its loops, and let DaCe write CUDA or HIP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs

from .....runtime.fields.device import DeviceType
from .....runtime.process import classes
from ....artifacts import Generated, Interface, Lowered, Variant
from ....base import VALUES, Artifact
from ....gpu_target import GPU_TARGET, GpuTarget
from ....numerics import EXACTNESS, FUNCTIONS
from ....option_kinds import FLAG, MOST_THREADS, SECONDS, TEXTS, VALUE_NAMES, option, whole
from ....sizes import BLOCK, ThreadBlock
from ....vendors.vendor import Vendor
from ..pass_list import DACE_PASSES, FUSION, FUSIONS, LAUNCH_BOUNDS, SDFG_PASSES, SdfgPass
from ..sdfg_stage import SdfgStage
from ..settings import dace_version

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..source import Plan

BACKEND = "dace_gpu"


@classes.frozen
class CodegenDaceGpu(SdfgStage):
    """Choose kernels and temporaries for `target`, and let DaCe write their CUDA or HIP.

    Attributes:
        target: the GPU that will run the code.
        arrays: values (as in '%12') that become arrays, against the cost model.
        inline: values that are recomputed at each use, against the cost model.
        numerics: 'strict', 'contract' or 'fast', as for the backend 'gpu'.
        mathematics: 'own' or 'library', as for the backend 'gpu'.
        fusion: 'schedule' or 'dace', as for the backend 'dace_cpu'.
        auto_optimize: whether the passes run.
        passes: DaCe's transformations in their order: names of ours, functions of the user's.
        blocking_dims: names of the dimensions of which a thread computes `blocking_size` points.
        blocking_size: how many indices a block has.
        unroll_scans: how often pass 'unroll_scans' unrolls loops over levels; not at all if 0.
        most_applications: a pass that is applied more often is undone, with a warning.
        most_nodes: a pass that leaves more nodes is undone, with a warning.
        pass_seconds: a function in `passes` that takes longer ends the build; 0 is no limit.
        gt4py_hooks: names of functions in `passes` that were written for SDFGs of gt4py; one that
            fails on ours is left out, with a warning.
        block_1d: threads of a block, such as `ThreadBlock(x=128)`, for maps of one dimension,
            against the default.
        block_2d: the same for two dimensions.
        block_3d: the same for three and more.
        column_block: the same for scans.
        launch_bounds: the number of threads that the compiler makes registers for; by default that
            of a block, and '0' asks for none.
        launch_factor: the same as a multiple of the threads of a block.
        most_registers: the most registers of a thread; 0 leaves it to the compiler.
        columns_beside: whether what scans over contiguous levels touch is copied to arrays where
            columns lie beside each other.
        asynchronous: whether a call returns when its kernels are queued, or when they are done.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.
        host: whether the kernels are compiled as C++, and their threads run in turn.
        on_device: whether fields then lie on the simulated device of the null platform.

    """

    name: ClassVar[str] = "codegen_dace_gpu"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    target: GpuTarget = option(GPU_TARGET, attrs.Factory(lambda: GpuTarget("sm_90")))
    arrays: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    inline: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
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
    block_1d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_2d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_3d: ThreadBlock = option(BLOCK, ThreadBlock())
    column_block: ThreadBlock = option(BLOCK, ThreadBlock())
    launch_bounds: str = option(LAUNCH_BOUNDS, "")
    launch_factor: int = option(whole(0, MOST_THREADS), 0)
    most_registers: int = option(whole(0, 512), 0)
    columns_beside: bool = option(FLAG, True, tune=[True, False])
    asynchronous: bool = option(FLAG, True)
    checked: bool = option(FLAG, False)
    host: bool = option(FLAG, False)
    on_device: bool = option(FLAG, False)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and the interface."""
        from ....ir.loops.lift import lift
        from ...interface import describe
        from ...rows.checks import codes, statuses
        from .source import gpu_source

        kernel, groups, plan = self._planned(lowered, variant)
        written = gpu_source(kernel, plan, self.vendor)
        interface = describe(
            lowered.program,
            lift(written.kernel),
            groups,
            BACKEND,
            self._device(),
            () if variant.domain else variant.alike,
            statuses(written.kernel, written.clamping) if self.checked else (),
            clamping=written.clamping,
            in_steps=True,
        )
        interface = attrs.evolve(interface, workspace=written.kernel.workspace)
        if self.checked:
            interface = attrs.evolve(interface, codes=codes(kernel))
        generated = Generated(self.vendor.language, written.source, written.listing, self._flags())
        return {"generated": generated, "interface": interface}

    @property
    def vendor(self) -> Vendor:
        """Whose dialect the kernels have."""
        return self.target.writer(host=self.host)

    def _device(self) -> DeviceType:
        return self.target.memory(host=self.host, on_device=self.on_device)

    def _flags(self) -> tuple[str, ...]:
        library = self.vendor.library
        archs = () if self.host else tuple(map(library.arch_flag, self.target.archs))
        return (*library.flags, *archs)

    def _plan(self, lowered: Lowered) -> Plan:
        from ...pass_list import PLAN_ONLY
        from ...schedule.rules import Rules
        from ..grid import Grid
        from ..passes import Settings
        from ..source import Plan
        from ..tasklet import Style
        from .beside import beside

        dace_version()  # the error says how to install DaCe
        return Plan(
            Rules(
                self.target,
                self._arrays(lowered, self.arrays, self.fusion),
                self.inline,
                checked=self.checked,
                columns_apart=True,
            ),
            Style(
                own_math=self.mathematics == "own" and self.numerics == "contract",
                checked=self.checked,
                device=True,
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
            0,
            Grid(
                self.block_1d.sizes, self.block_2d.sizes, self.block_3d.sizes,
                self.column_block.sizes,
                self.launch_bounds, self.launch_factor, self.most_registers,
            ),
            self.asynchronous,
            loop_passes=(beside, "plan_arena") if self.columns_beside else PLAN_ONLY,
        )  # fmt: skip
