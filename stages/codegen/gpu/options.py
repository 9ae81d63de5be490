"""The options of a code generator for GPUs."""

from __future__ import annotations

from typing import Final, Literal

from ....runtime.process import classes
from ... import (
    BLOCK,
    FLAG,
    MOST_THREADS,
    POINTS,
    Patches,
    ThreadBlock,
    ThreadPoints,
    numbers,
    option,
    optional,
    whole,
)
from ...gpu_target import GPU_TARGET, GpuTarget
from ..options import CodegenOptions
from ..pass_list import LOOP_PASSES, PassName, Rules

GPU_PASSES: Final = (
    "fuse", "spread", "unswitch", "widen", "share_reciprocals", "patch", "share_in_patches",
    "load_ahead", "hand_on", "plan_arena",
)  # fmt: skip


def _are_patches(patches: Patches) -> bool:
    """Tell whether a block can have such patches.

    >>> _are_patches(Patches(96, levels=16, points=2)), _are_patches(Patches(levels=16, points=3))
    (True, False)
    """
    lanes, rest = divmod(patches.levels, patches.points or 1)
    return not rest and (not patches.threads or lanes <= patches.threads)


PATCHES: Final = numbers(
    Patches,
    ("elements", "levels", "points", "threads", "blocks"),
    fits=_are_patches,
    or_false=True,
    hints=(
        "A thread has 'points' levels of an element at a time, 'levels' is a multiple of it, and "
        "a block has threads for all levels of an element.",
    ),
)


@classes.frozen
class GpuOptions(CodegenOptions):
    """The options of `CodegenGpu`, which its passes read.

    Attributes:
        target: the GPU that will run the code.
        points: points of a thread, such as `ThreadPoints(x=4)`, against the model.
        block: threads of a block, such as `ThreadBlock(x=32, y=4)`, against the model.
        column_block: the same for the columns of scans.
        ahead: levels that a scan loads before it uses them, against the model; -1 for none.
        shared: whether scans over the same columns hand numbers on in shared memory.
        tile_columns: columns of a block of scans where levels have unit stride, which come to
            shared memory as rows, against the model; -1 for none.
        keep: whether scans of one kernel ask the caches to keep what several of them read.
        unaligned: whether the points of a thread are computed together by single accesses where
            memory is not aligned, if the code is short; None for elements of 8 bytes only.
        blocked: whether scans of columns that do not fit in shared memory are one kernel all the
            same, some levels of its arrays in memory.
        land: levels of a scan on their way to shared memory by asynchronous copies, against the
            model; -1 for loads to registers.
        patches: sizes for nests that hand arrays on within patches of a mesh, such as
            `Patches(elements=192, levels=16, points=4, threads=256, blocks=5)`; with False each
            nest is a kernel, as are those whose levels begin inside a thread if no size is given.
        many_outputs: whether most threads have code without conditions of boxes, of which programs
            with outputs on several boxes have many; adjoints have it.
        effort: how long to search for better choices than those of the rules, by predicted seconds:
            0 takes the rules' choices, 1 turns values into arrays that the rules compute again, in
            up to 8 plans.
        passes: the passes over loops in their order: names of ours, functions of the user's.
        host: whether the kernels are compiled as C++ for the null platform, which runs the threads
            of a grid in turn.
        on_device: whether fields lie on the simulated device of that platform, not on the host.

    """

    target: GpuTarget = option(GPU_TARGET, factory=lambda: GpuTarget("sm_90"))
    points: ThreadPoints = option(POINTS, ThreadPoints())
    block: ThreadBlock = option(BLOCK, ThreadBlock())
    column_block: ThreadBlock = option(BLOCK, ThreadBlock())
    ahead: int = option(whole(-1, 256), 0)
    shared: bool = option(FLAG, True)
    tile_columns: int = option(whole(-1, MOST_THREADS), 0, was="tiles")
    keep: bool = option(FLAG, True)
    unaligned: bool | None = option(optional(FLAG), None)
    blocked: bool = option(FLAG, True)
    land: int = option(whole(-1, 4096), 0)
    patches: Patches | Literal[False] = option(PATCHES, Patches())
    many_outputs: bool = option(FLAG, False)
    effort: int = option(whole(0, 1), 1)
    passes: tuple[PassName, ...] = option(LOOP_PASSES, GPU_PASSES)
    host: bool = option(FLAG, False)
    on_device: bool = option(FLAG, False)

    def rules(self) -> Rules:
        """Return what the schedule and the loop passes have to know."""
        return Rules(
            self.target, self.arrays, self.inline, checked=self.checked, columns_apart=True,
            hands_on=self.shared and not self.checked, many_outputs=self.many_outputs, own=self,
        )  # fmt: skip


_DEFAULT: Final = GpuOptions()


def options_of(rules: Rules) -> GpuOptions:
    """Return the options of a GPU, their defaults where the rules have none."""
    return rules.own if isinstance(rules.own, GpuOptions) else _DEFAULT
