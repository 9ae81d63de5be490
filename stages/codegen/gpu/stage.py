"""Schedule a program for a GPU: write its kernels, and the plan of their launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from ....runtime.process import classes
from ... import Artifact, Generated, Interface, Lowered, Stage, Variant
from ...vendors.vendor import Vendor
from .options import GpuOptions
from .pass_list import gpu_passes

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..pass_list import LoopPass, Rules
    from ..rows import WriterOptions
    from ..schedule.schedule import Scheduled


@classes.frozen
class CodegenGpu(GpuOptions, Stage):
    """Choose kernels and temporaries for `target` and write CUDA or HIP."""

    name: ClassVar[str] = "codegen_gpu"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the kernels, and what a call computes and launches."""
        from ...ir.loops.text import show
        from ..interface import describe, integers, step_numbers
        from ..passes import make_loops
        from ..rows.checks import codes, statuses
        from ..schedule.schedule import remembered
        from ..soft_reads import Calls, clamping_of
        from .launches import orders_of, with_launches
        from .text.kernel import write_gpu

        scheduled = remembered(lowered, variant, self.checked)
        stage, notes = self._planned(scheduled, lowered, variant)
        tree, groups = make_loops(lowered, variant, *stage._schedule(), scheduled=scheduled)
        ints = integers(tree)
        is_apart = self.many_outputs and not self.checked  # few calls of adjoints read beyond
        calls: Calls = "beyond" if variant.beyond else "inside" if is_apart else "all"
        clamping = clamping_of(lowered.program, groups, ints, calls)
        source, kernels = write_gpu(tree, ints, self._writer_options(), self.vendor, clamping)
        orders = orders_of(tree, kernels, step_numbers(groups))
        interface = describe(
            lowered.program,
            tree,
            groups,
            "gpu-host" if self.host else "gpu",
            self.target.memory(host=self.host, on_device=self.on_device),
            () if variant.domain else variant.alike,
            statuses(tree, clamping) if self.checked else (),
            tuple(bound for order in orders for bound in order.bounds),
            clamping,
            in_steps=True,
        )
        interface = with_launches(interface, orders, self.vendor.platform)
        if self.checked:
            interface = classes.evolve(interface, codes=codes(tree))
        archs = () if self.host else tuple(f"arch={arch}" for arch in self.target.archs)
        listing = show(classes.evolve(tree, notes=(*tree.notes, *notes)))
        generated = Generated(self.vendor.language, source, listing, (*archs, *self.vendor.flags))
        return {"generated": generated, "interface": interface}

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the text of the loops after each pass."""
        from ..passes import listings
        from ..schedule.schedule import remembered

        stage, _ = self._planned(remembered(lowered, variant, self.checked), lowered, variant)
        return listings(lowered, variant, *stage._schedule())

    def _planned(
        self, scheduled: Scheduled, lowered: Lowered, variant: Variant
    ) -> tuple[Self, tuple[str, ...]]:
        """Return the stage with the options that a search prefers, and what it tells of them."""
        if not self.effort or self.checked or variant.beyond:
            return self, ()
        from ..plan.gpu_seconds import GpuModel
        from ..plan.machine import H200
        from ..plan.search import Subject, to_either, with_values

        subject = Subject(scheduled, lowered, variant, lambda one: one._schedule())
        # by a large call, too: the time of small ones is that of their launches
        return with_values(
            subject, self, lambda sizes: GpuModel(sizes, H200).seconds, to_either, large=1
        )

    def _schedule(self) -> tuple[Rules, tuple[LoopPass, ...]]:
        return self.rules(), gpu_passes(self.passes)

    @property
    def vendor(self) -> Vendor:
        """Whose dialect the kernels have."""
        return self.target.writer(host=self.host)

    def _writer_options(self) -> WriterOptions:
        from ..rows.options import WriterOptions

        own_math = self.mathematics == "own" and self.numerics == "contract"
        return WriterOptions(parallel_from=0, own_math=own_math, checked=self.checked)
