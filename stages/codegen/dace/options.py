"""The options that the backends by DaCe share, of which one lists its transformations in order.

This module imports neither DaCe nor the passes, because a warm start reads the option.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ....runtime.process import OptionError, classes
from ... import FLAG, SECONDS, TEXTS, Kind, Stage, listed, one_of, option, whole
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
FUSION: Final = one_of(FUSIONS)
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
