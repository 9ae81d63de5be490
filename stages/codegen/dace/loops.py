"""From a program to the loops of which an SDFG is made, and the options of both."""

from __future__ import annotations

from ....runtime.process import classes
from ...artifacts import Lowered, Variant
from ...ir.loops import Bound, Kernel, Stride, Tiles, nodes_of
from ..cpu.pass_list import cpu_passes
from ..interface import integers, step_numbers, step_place
from ..pass_list import PassName, Rules, without
from ..passes import make_loops
from ..rows import WriterOptions
from ..schedule.drafts import StoreGroup
from ..soft_reads import Clamping, clamping_of
from .arrangement import arranged
from .options import DaceOptions, GridOptions
from .settings import DaceConfig


@classes.frozen
class SdfgRules:
    """The options of an SDFG: of the loops before it, its tasklets, and the passes after it.

    `loop_passes` run before the SDFG is made. With a `grid` its maps are kernels of a GPU.
    `config` has the options of DaCe that are not its defaults.
    """

    schedule: Rules
    writer: WriterOptions
    options: DaceOptions
    loop_passes: tuple[PassName, ...]
    grid: GridOptions | None = None
    config: DaceConfig = classes.field(factory=dict)


@classes.frozen
class SdfgLoops:
    """The loops of a program, in which `Tiles` are the states of an SDFG, and its groups of stores.

    `steps` are the numbers of the groups' statements, if a call may run a single one. `integers`
    are those of the kernel, without those that `clamping` needs besides.
    """

    kernel: Kernel
    groups: tuple[StoreGroup, ...]
    integers: tuple[Bound | Stride, ...]
    clamping: Clamping | None
    steps: tuple[int, ...]

    def after(self, left: Kernel) -> SdfgLoops:
        """Return the loops of a call, after DaCe's passes have left fewer arrays.

        The version that clamps indices needs the arrays that there were, and its call the integers
        that only the kernel `left` needs: sizes of slots.
        """
        ints = integers(left)
        if self.clamping is None:
            return classes.evolve(self, kernel=left, integers=ints)
        known = {*self.integers, *self.clamping.integers}
        more = (each for each in ints if not isinstance(each, Stride) and each not in known)
        clamping = classes.evolve(self.clamping, integers=(*self.clamping.integers, *more))
        return classes.evolve(self, clamping=clamping)


def sdfg_loops(lowered: Lowered, variant: Variant, rules: SdfgRules) -> SdfgLoops:
    """Schedule a program; scans run row by row only where an SDFG can say so."""
    kernel, groups = make_loops(lowered, variant, rules.schedule, cpu_passes(rules.loop_passes))
    ints = integers(kernel)
    clamping = clamping_of(lowered.program, groups, ints)
    has_tile_arrays = any(buffer.memory == "tile" for buffer in kernel.buffers)
    if has_tile_arrays or (clamping is not None and any(nodes_of(kernel, Tiles))):
        untiled = without(rules.loop_passes, "tile")
        return sdfg_loops(lowered, variant, classes.evolve(rules, loop_passes=untiled))
    steps = () if step_place(ints, groups) is None else step_numbers(groups)
    return SdfgLoops(arranged(kernel), groups, ints, clamping, steps)
