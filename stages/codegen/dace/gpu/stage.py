"""Schedule a program for a GPU, make an SDFG of its loops, and let DaCe write CUDA or HIP."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from .....runtime.fields.device import DeviceType
from .....runtime.process import classes
from ....gpu_target import GPU_TARGET, GpuTarget
from ....option_kinds import FLAG, MOST_THREADS, option, whole
from ....sizes import BLOCK, ThreadBlock
from ....vendors.vendor import Vendor
from ..pass_list import LAUNCH_BOUNDS
from ..sdfg_stage import SdfgStage

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..loops import SdfgLoops, SdfgRules
    from ..source import SdfgSource

BACKEND = "dace_gpu"


@classes.frozen
class CodegenDaceGpu(SdfgStage):
    """Choose kernels and temporaries for `target`, and let DaCe write their CUDA or HIP.

    Attributes:
        target: the GPU that will run the code.
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
        host: whether the kernels are compiled as C++, and their threads run in turn.
        on_device: whether fields then lie on the simulated device of the null platform.

    """

    name: ClassVar[str] = "codegen_dace_gpu"
    backend: ClassVar[str] = BACKEND

    target: GpuTarget = option(GPU_TARGET, attrs.Factory(lambda: GpuTarget("sm_90")))
    block_1d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_2d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_3d: ThreadBlock = option(BLOCK, ThreadBlock())
    column_block: ThreadBlock = option(BLOCK, ThreadBlock())
    launch_bounds: str = option(LAUNCH_BOUNDS, "")
    launch_factor: int = option(whole(0, MOST_THREADS), 0)
    most_registers: int = option(whole(0, 512), 0)
    columns_beside: bool = option(FLAG, True, tune=[True, False])
    asynchronous: bool = option(FLAG, True)
    host: bool = option(FLAG, False)
    on_device: bool = option(FLAG, False)

    @property
    def vendor(self) -> Vendor:
        """Whose dialect the kernels have."""
        return self.target.writer(host=self.host)

    def _device(self) -> DeviceType:
        return self.target.memory(host=self.host, on_device=self.on_device)

    def _flags(self, _: str) -> tuple[str, ...]:
        library = self.vendor.library
        archs = () if self.host else tuple(map(library.arch_flag, self.target.archs))
        return (*library.flags, *archs)

    def _written(self, loops: SdfgLoops, rules: SdfgRules) -> SdfgSource:
        from .source import gpu_source

        return gpu_source(loops, rules, self.vendor)

    def _language(self) -> str:
        return self.vendor.language

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        from ...pass_list import PLAN_ONLY
        from ...schedule.rules import Rules
        from ..grid import Grid
        from ..tasklet import Style
        from .beside import beside

        return self._sdfg_rules(
            Rules(
                self.target,
                arrays,
                self.inline,
                checked=self.checked,
                columns_apart=True,
            ),
            Style(
                own_math=self.mathematics == "own" and self.numerics == "contract",
                checked=self.checked,
                device=True,
            ),
            grid=Grid(
                self.block_1d.sizes, self.block_2d.sizes, self.block_3d.sizes,
                self.column_block.sizes,
                self.launch_bounds, self.launch_factor, self.most_registers,
            ),
            asynchronous=self.asynchronous,
            loop_passes=(beside, "plan_arena") if self.columns_beside else PLAN_ONLY,
        )  # fmt: skip
