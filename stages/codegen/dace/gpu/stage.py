"""Schedule a program for a GPU, make an SDFG of its loops, and let DaCe write CUDA or HIP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .....runtime.process import DeviceType, classes
from .... import FLAG, Generated, option
from ....gpu_target import GPU_TARGET, GpuTarget
from ....vendors.vendor import Vendor
from ..options import GridOptions
from ..sdfg_stage import SdfgStage

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..generators import Written
    from ..loops import SdfgRules
    from ..names import SdfgNames
    from ..source import DaceText

BACKEND = "dace_gpu"


@classes.frozen
class CodegenDaceGpu(GridOptions, SdfgStage):
    """Choose kernels and temporaries for `target`, and let DaCe write their CUDA or HIP.

    Attributes:
        target: the GPU that will run the code.
        columns_beside: whether what scans over contiguous levels touch is copied to arrays where
            columns lie beside each other.
        asynchronous: whether a call returns when its kernels are queued, or when they are done.
        host: whether the kernels are compiled as C++, and their threads run in turn.
        on_device: whether fields then lie on the simulated device of the null platform.

    """

    name: ClassVar[str] = "codegen_dace_gpu"
    backend: ClassVar[str] = BACKEND

    target: GpuTarget = option(GPU_TARGET, factory=lambda: GpuTarget("sm_90"))
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

    def _write(self, rules: SdfgRules, sdfg: Any, names: SdfgNames) -> Written:
        from .kernels import write_for_gpu

        return write_for_gpu(sdfg, self.vendor)

    def _generated(self, text: DaceText, rules: SdfgRules) -> Generated:
        from .source import gpu_source

        vendor = self.vendor
        source = gpu_source(text, rules, vendor, waits=not self.asynchronous)
        archs = () if self.host else tuple(map(vendor.library.arch_flag, self.target.archs))
        return Generated(vendor.language, source, text.listing, (*vendor.library.flags, *archs))

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        from ...pass_list import PLAN_ONLY, Rules
        from ...rows.options import WriterOptions
        from ..loops import SdfgRules
        from .beside import beside
        from .source import dace_config

        own_math = self.mathematics == "own" and self.numerics == "contract"
        return SdfgRules(
            Rules(self.target, arrays, self.inline, checked=self.checked, columns_apart=True),
            WriterOptions(0, own_math=own_math, checked=self.checked),
            self,
            (beside, "plan_arena") if self.columns_beside else PLAN_ONLY,
            self,
            dace_config(self.vendor),
        )
