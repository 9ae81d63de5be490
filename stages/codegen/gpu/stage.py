"""Schedule a program for a GPU: write its kernels, and the plan of their launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs

from ....runtime.fields.device import DeviceType
from ....runtime.process import classes
from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import VALUES, Artifact, Stage
from ...gpu_target import GPU_TARGET, GpuTarget
from ...numerics import EXACTNESS, FUNCTIONS
from ...option_kinds import BLOCK, FLAG, MOST_THREADS, VALUE_NAMES, option, optional, whole
from ...vendors.vendor import Vendor
from ..pass_list import LOOP_PASSES, PassName
from ..patch_sizes import PATCHES, POINTS
from .pass_list import GPU_PASSES, gpu_passes

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..rows.options import WriterOptions
    from ..schedule.rules import Rules


@classes.frozen
class CodegenGpu(Stage):
    """Choose kernels and temporaries for `target` and write CUDA or HIP.

    Attributes:
        target: the GPU that will run the code.
        arrays: values (as in '%12') that become arrays, against the cost model.
        inline: values that are recomputed at each use, against the cost model.
        numerics: 'strict', 'contract' or 'fast', as for a CPU.
        mathematics: 'own' writes transcendental functions out where `numerics` is 'contract', so
            that their values are those of a CPU; 'library' takes those of the vendor.
        points: points of a thread along the innermost loop and the one around it, against the
            model.
        block: threads of a block along x, y and z, against the model; one number counts the
            points of all loops in one row.
        column_block: the same for the columns of scans.
        ahead: levels that a scan loads before it uses them, against the model; -1 for none.
        shared: whether scans over the same columns hand numbers on in shared memory.
        tiles: columns of a block of scans where levels have unit stride, which come to shared
            memory as rows, against the model; -1 for none.
        keep: whether scans of one kernel ask the caches to keep what several of them read.
        unaligned: whether the points of a thread are computed together by single accesses where
            memory is not aligned, if the code is short; None for elements of 8 bytes only.
        blocked: whether scans of columns that do not fit in shared memory are one kernel all the
            same, some levels of its arrays in memory.
        land: levels of a scan on their way to shared memory by asynchronous copies, against the
            model; -1 for loads to registers.
        patches: sizes for nests that hand arrays on within patches of a mesh, such as
            (192, 16, 4, 256, 5): elements of a patch, levels of a block, points of a thread,
            threads of a block, blocks on a multiprocessor. 0 leaves one to the model; with (-1,)
            each nest is a kernel.
        passes: the passes over loops in their order: names of ours, functions of the user's.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.
        host: whether the kernels are compiled as C++ for the null platform, which runs the threads
            of a grid in turn.
        on_device: whether fields lie on the simulated device of that platform, not on the host.

    """

    name: ClassVar[str] = "codegen_gpu"
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
    points: tuple[int, ...] = option(POINTS, ())
    block: tuple[int, ...] = option(BLOCK, ())
    column_block: tuple[int, ...] = option(BLOCK, ())
    ahead: int = option(whole(-1, 256), 0)
    shared: bool = option(FLAG, True)
    tiles: int = option(whole(-1, MOST_THREADS), 0)
    keep: bool = option(FLAG, True)
    unaligned: bool | None = option(optional(FLAG), None)
    blocked: bool = option(FLAG, True)
    land: int = option(whole(-1, 4096), 0)
    patches: tuple[int, ...] = option(PATCHES, ())
    checked: bool = option(FLAG, False)
    passes: tuple[PassName, ...] = option(LOOP_PASSES, GPU_PASSES)
    host: bool = option(FLAG, False)
    on_device: bool = option(FLAG, False)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the kernels, and what a call computes and launches."""
        from ...ir.loops.text import show
        from ..integers import integers
        from ..interface import describe, step_numbers
        from ..passes import make_loops
        from ..rows.checks import codes, statuses
        from ..soft_reads import clamping_of
        from .launches import orders_of, with_launches
        from .text.kernel import write_gpu

        tree, groups = make_loops(lowered, variant, self.rules(), gpu_passes(self.passes))
        ints = integers(tree)
        clamping = clamping_of(lowered.program, groups, ints)
        source, kernels = write_gpu(tree, ints, self._writer_options(), self.vendor, clamping)
        orders = orders_of(tree, kernels, step_numbers(groups))
        interface = describe(
            lowered.program,
            tree,
            groups,
            "gpu-host" if self.host else "gpu",
            self._device(),
            () if variant.domain else variant.alike,
            statuses(tree, clamping) if self.checked else (),
            tuple(bound for order in orders for bound in order.bounds),
            clamping,
            in_steps=True,
        )
        generated = Generated(
            language=self.vendor.language,
            source=source,
            loops=show(tree),
            flags=self._flags(),
        )
        interface = with_launches(interface, orders, self.vendor.platform)
        if self.checked:
            interface = attrs.evolve(interface, codes=codes(tree))
        return {"generated": generated, "interface": interface}

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the text of the loops after each pass."""
        from ..passes import listings

        return listings(lowered, variant, self.rules(), gpu_passes(self.passes))

    @property
    def vendor(self) -> Vendor:
        """Whose dialect the kernels have."""
        return self.target.writer(host=self.host)

    def _device(self) -> DeviceType:
        return self.target.memory(host=self.host, on_device=self.on_device)

    def rules(self) -> Rules:
        """Return what the schedule and the loop passes have to know."""
        from ..gpu_choices import GpuChoices
        from ..schedule.rules import Rules

        return Rules(
            self.target,
            self.arrays,
            self.inline,
            checked=self.checked,
            columns_apart=True,
            gpu=GpuChoices(
                points=self.points,
                block=self.block,
                column_block=self.column_block,
                ahead=self.ahead,
                shared=self.shared,
                tiles=self.tiles,
                keep=self.keep,
                unaligned=self.unaligned,
                blocked=self.blocked,
                land=self.land,
                patches=self.patches,
                most_shared=self.target.block_memory,
            ),
        )

    def _flags(self) -> tuple[str, ...]:
        archs = () if self.host else tuple(f"arch={arch}" for arch in self.target.archs)
        return (*archs, *self.vendor.flags)

    def _writer_options(self) -> WriterOptions:
        from ..rows.options import WriterOptions

        own_math = self.mathematics == "own" and self.numerics == "contract"
        return WriterOptions(parallel_from=0, own_math=own_math, checked=self.checked)
