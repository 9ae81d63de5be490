"""The options that the backends by DaCe share, of which one lists its transformations in order.

On a GPU a map has a thread for each point, or for each column of a scan.

This module imports neither DaCe nor the passes, because a warm start reads the option.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ....runtime.process import OptionError, classes
from ... import (
    BLOCK,
    FLAG,
    MOST_THREADS,
    SECONDS,
    TEXTS,
    Kind,
    Stage,
    ThreadBlock,
    listed,
    one_of,
    option,
    whole,
)
from ..options import CodegenOptions

SdfgPass: TypeAlias = str | Callable[..., Any]

# `passes.py` describes each beside its function.
KNOWN: Final = (
    "simplify",
    "fuse_vertical",
    "fuse_horizontal",
    "fuse_tasklets",
    "block",
    "unroll_scans",
)
FUSIONS: Final = ("schedule", "dace")
DACE_PASSES: Final = ("simplify", "fuse_vertical", "block", "unroll_scans")


def check_sdfg_passes(stage: Stage, _: Any, passes: tuple[SdfgPass, ...]) -> None:
    """Refuse unknown names, and functions without a name."""
    for step in passes:
        if isinstance(step, str):
            if step not in KNOWN:
                raise OptionError(
                    f"Stage '{stage.name}' knows no pass '{step}'.", name=step, known=KNOWN
                )
        elif not callable(step) or getattr(step, "__name__", "<lambda>") == "<lambda>":
            raise OptionError(
                f"A pass over SDFGs is a named function of one SDFG, got {step!r}.",
                hints=("Write 'def my_pass(sdfg): ...'.",),
            )


SDFG_PASSES: Final = Kind(
    "a list of names of passes over SDFGs and of named functions",
    lambda value: isinstance(value, tuple),
    listed,
    then=check_sdfg_passes,
)


@classes.frozen(kw_only=True)
class DaceOptions(CodegenOptions):
    """The options of both stages that let DaCe write the code.

    Attributes:
        fusion: 'schedule' lets our cost model choose the values that become arrays; with 'dace'
            every used value becomes one, and DaCe's passes fuse the maps.
        auto_optimize: whether the passes run.
        passes: DaCe's transformations in their order: names of ours, functions of the user's.
        blocking_dims: names of the dimensions that pass 'block' cuts; on a GPU, a thread computes
            a block.
        blocking_size: how many indices a block has.
        unroll_scans: how often pass 'unroll_scans' unrolls loops over levels; not at all if 0.
        most_applications: a pass that is applied more often is undone, with a warning.
        most_nodes: a pass that leaves more nodes is undone, with a warning.
        pass_seconds: a function in `passes` that takes longer ends the build; 0 is no limit.
        gt4py_hooks: names of functions in `passes` that were written for SDFGs of gt4py; one that
            fails on ours is left out, with a warning.

    """

    fusion: str = option(one_of(FUSIONS), "schedule", tune=FUSIONS)
    auto_optimize: bool = option(FLAG, True)
    passes: tuple[SdfgPass, ...] = option(SDFG_PASSES, DACE_PASSES)
    blocking_dims: tuple[str, ...] = option(TEXTS, ())
    blocking_size: int = option(whole(1), 10, tune=[4, 10, 32])
    unroll_scans: int = option(whole(0, 1024), 0, tune=[0, 2, 4])
    most_applications: int = option(whole(), 1000)
    most_nodes: int = option(whole(), 100_000)
    pass_seconds: float = option(SECONDS, 600.0, eq=False)
    gt4py_hooks: tuple[str, ...] = option(TEXTS, ())


# Threads of a block along x, y and z by the number of loops.
_OF_POINTS: Final = ((256,), (32, 8), (32, 8, 1))
# A thread of a scan keeps many numbers; small blocks let all multiprocessors share few columns.
_OF_COLUMNS: Final = ((64,), (32, 2), (32, 2, 1))
LAUNCH_BOUNDS: Final = Kind(
    "a number of threads as text, or an empty text",
    lambda value: isinstance(value, str) and (not value or (value.isdecimal() and len(value) < 5)),
    lambda value: value if isinstance(value, bool) or not isinstance(value, int) else str(value),
)


@classes.frozen(kw_only=True, slots=False)  # a stage inherits from two classes with fields
class GridOptions:
    """The threads of maps; empty or 0 leaves the choice to us.

    Attributes:
        block_1d: threads of a block, such as `ThreadBlock(x=128)`, for maps of one dimension,
            against the default.
        block_2d: the same for two dimensions.
        block_3d: the same for three and more.
        column_block: the same for scans.
        launch_bounds: the number of threads that the compiler makes registers for; by default, and
            for '0', that of a block.
        launch_factor: the same as a multiple of the threads of a block.
        most_registers: the most registers of a thread; 0 leaves it to the compiler.

    """

    block_1d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_2d: ThreadBlock = option(BLOCK, ThreadBlock())
    block_3d: ThreadBlock = option(BLOCK, ThreadBlock())
    column_block: ThreadBlock = option(BLOCK, ThreadBlock())
    launch_bounds: str = option(LAUNCH_BOUNDS, "")
    launch_factor: int = option(whole(0, MOST_THREADS), 0)
    most_registers: int = option(whole(0, 512), 0)

    def block(self, loops: int, *, is_scan: bool) -> tuple[int, ...]:
        """Return the threads of a block for a map over so many loops.

        >>> GridOptions(block_2d=ThreadBlock(x=64, y=4)).block(2, is_scan=False)
        (64, 4, 1)
        >>> GridOptions().block(3, is_scan=True)
        (32, 2, 1)
        """
        place = min(loops, 3) - 1
        if is_scan:
            chosen = self.column_block.sizes[: place + 1] or _OF_COLUMNS[place]
        else:
            given = (self.block_1d, self.block_2d, self.block_3d)[place]
            chosen = given.sizes or _OF_POINTS[place]
        return (*chosen, 1, 1)[:3]

    def bounds(self, block: tuple[int, ...]) -> str:
        """Return the number of threads that the compiler makes registers for; '' is its default.

        >>> GridOptions(launch_factor=2).bounds((32, 8, 1))
        '512'
        >>> GridOptions(launch_bounds="0").bounds((32, 8, 1))
        '0'
        """
        return (
            str(self.launch_factor * math.prod(block)) if self.launch_factor else self.launch_bounds
        )
