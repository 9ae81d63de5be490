"""Schedule a program and encode its loops, for calls that no compiled code serves yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...runtime.process import classes
from .. import (
    BYTES,
    CPU_TARGET,
    Artifact,
    CpuTarget,
    Encoded,
    Interface,
    Lowered,
    Stage,
    Variant,
    option,
    optional,
    whole,
)
from ..codegen.options import CodegenOptions

# The class of machines that schedules are for: instruction sets are chosen when an entry is made.
# Arrays stay in the first cache, where an element of one takes as long as eight operations.
_CORES = 64
MACHINE = CpuTarget("x86-64-v3", cores=_CORES, bandwidth=_CORES * 108e9)


@classes.frozen
class Encode(CodegenOptions, Stage):
    """Choose loops and temporaries, and write steps for the native core.

    Attributes:
        machine: the class of machines for which arrays are placed; any runs the steps.
        parallel_from: as that of `Codegen`.

    """

    name: ClassVar[str] = "encode"
    version: ClassVar[str] = "1"  # of the instructions, which the native core gives their meaning
    is_awaited: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "encoded": Encoded,
        "interface": Interface,
    }

    machine: CpuTarget = option(CPU_TARGET, MACHINE)
    parallel_from: int | None = option(optional(whole(0, BYTES)), None)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the steps and what they expect of a call."""
        from ...runtime.process import CodegenError
        from ..codegen.arena import plan_arena
        from ..codegen.cpu.options import CpuOptions
        from ..codegen.cpu.passes.prefetching import prefetch
        from ..codegen.cpu.passes.streaming import stream
        from ..codegen.cpu.passes.tiling import tile
        from ..codegen.interface import describe, integers, step_numbers, step_place
        from ..codegen.passes import make_loops
        from ..codegen.soft_reads import clamping_of
        from .tree import encode
        from .verify import verify

        if self.checked or self.numerics == "fast" or self.mathematics != "own":
            raise CodegenError("Programs with these options wait for compiled code.")
        options = CpuOptions(self.machine, arrays=self.arrays, inline=self.inline, jam=False)
        passes = (tile, stream, prefetch, plan_arena)
        tree, groups = make_loops(lowered, variant, options.rules(), passes)
        ints = integers(tree)
        alike = () if variant.domain else variant.alike
        clamping = clamping_of(lowered.program, groups, ints)
        place = step_place(ints, groups, clamping)
        own = self.numerics == "contract"
        program = encode(tree, ints, own, clamping, place, step_numbers(groups))
        if self.parallel_from is not None:
            program = classes.evolve(program, parallel_from=self.parallel_from)
        return {
            "encoded": Encoded(verify(program)),
            "interface": describe(
                lowered.program, tree, groups, "rows", self.machine.device, alike,
                clamping=clamping, in_steps=True,
            ),
        }  # fmt: skip
