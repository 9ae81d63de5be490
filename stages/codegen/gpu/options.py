"""The options of a code generator for GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal

import attrs

from ....runtime.process import classes
from ...base import VALUES
from ...gpu_target import GPU_TARGET, GpuTarget
from ...numbers import Numbers
from ...numerics import EXACTNESS, FUNCTIONS
from ...option_kinds import FLAG, MOST_THREADS, VALUE_NAMES, numbers, option, optional, whole
from ..mesh.patches import Patches
from ..pass_list import GPU_PASSES, LOOP_PASSES, PassName

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..schedule.rules import Rules

MOST_ALONG_Z: Final = 64


@classes.frozen(repr=False)
class ThreadBlock(Numbers):
    """The threads of a block of a GPU along each axis; without `x` the cost model chooses.

    Attributes:
        x: the threads along the innermost loop.
        y: the threads along the loop around it; without it, the points of all loops are counted in
            one row along x.
        z: the threads along the third loop.

    >>> ThreadBlock(x=32, y=4).sizes, ThreadBlock(x=128).sizes, ThreadBlock().sizes
    ((32, 4, 1), (128,), ())
    """

    x: int | None = option(optional(whole(1, MOST_THREADS)), None)
    y: int | None = option(optional(whole(1, MOST_THREADS)), None)
    z: int = option(whole(1, MOST_ALONG_Z), 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The threads along x, y and z; one number for a row, none for the model's."""
        if self.x is None:
            return ()
        return (self.x,) if self.y is None else (self.x, self.y, self.z)


@classes.frozen(repr=False)
class ThreadPoints(Numbers):
    """The points of one thread of a GPU along each axis; without `x` the cost model chooses.

    Attributes:
        x: the points along the innermost loop, a power of two: wide accesses need one.
        y: the points along the loop around it.

    >>> ThreadPoints(x=4) == ThreadPoints(x=4, y=1)
    True
    """

    x: int | None = option(optional(whole(1, 16)), None)
    y: int = option(whole(1, 16), 1)


def _is_block(block: ThreadBlock) -> bool:
    """Tell whether a GPU can run such a block.

    >>> _is_block(ThreadBlock(64, 16)), _is_block(ThreadBlock(64, 32)), _is_block(ThreadBlock(y=4))
    (True, False, False)
    """
    is_inside_out = (block.x or not block.y) and (block.y or block.z == 1)
    return bool(is_inside_out) and math.prod(block.sizes) <= MOST_THREADS


def _are_points(points: ThreadPoints) -> bool:
    """Tell whether a thread can have so many points.

    >>> [_are_points(each) for each in (ThreadPoints(4, 3), ThreadPoints(3), ThreadPoints(y=2))]
    [True, False, False]
    """
    return points.y == 1 if points.x is None else points.x & (points.x - 1) == 0


def _are_patches(patches: Patches) -> bool:
    """Tell whether a block can have such patches.

    >>> _are_patches(Patches(96, levels=16, points=2)), _are_patches(Patches(levels=16, points=3))
    (True, False)
    """
    levels, points = patches.levels or 0, patches.points or 1
    lanes = levels // points
    return levels % points == 0 and (not patches.threads or lanes <= patches.threads)


BLOCK: Final = numbers(
    ThreadBlock,
    fits=_is_block,
    hints=(f"A block has at most {MOST_THREADS} threads; 'y' needs 'x', and 'z' needs 'y'.",),
)
POINTS: Final = numbers(
    ThreadPoints, fits=_are_points, hints=("'x' is a power of two, and 'y' needs 'x'.",)
)
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
class GpuOptions:
    """The options of `CodegenGpu`, which its passes read.

    Attributes:
        target: the GPU that will run the code.
        arrays: values (as in '%12') that become arrays, against the cost model.
        inline: values that are recomputed at each use, against the cost model.
        numerics: 'strict', 'contract' or 'fast', as for a CPU.
        mathematics: 'own' writes transcendental functions out where `numerics` is 'contract', so
            that their values are those of a CPU; 'library' takes those of the vendor.
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
            nest is a kernel.
        passes: the passes over loops in their order: names of ours, functions of the user's.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.
        host: whether the kernels are compiled as C++ for the null platform, which runs the threads
            of a grid in turn.
        on_device: whether fields lie on the simulated device of that platform, not on the host.

    """

    target: GpuTarget = option(GPU_TARGET, attrs.Factory(lambda: GpuTarget("sm_90")))
    arrays: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    inline: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    numerics: str = option(EXACTNESS, "contract")
    mathematics: str = option(FUNCTIONS, "own")
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
    checked: bool = option(FLAG, False)
    passes: tuple[PassName, ...] = option(LOOP_PASSES, GPU_PASSES)
    host: bool = option(FLAG, False)
    on_device: bool = option(FLAG, False)

    def rules(self) -> Rules:
        """Return what the schedule and the loop passes have to know."""
        from ..schedule.rules import Rules

        return Rules(
            self.target, self.arrays, self.inline, checked=self.checked, columns_apart=True,
            own=self,
        )  # fmt: skip


_DEFAULT: Final = GpuOptions()


def options_of(rules: Rules) -> GpuOptions:
    """Return the options of a GPU, their defaults where the rules have none."""
    return rules.own if isinstance(rules.own, GpuOptions) else _DEFAULT
