"""The options of a code generator for CPUs."""

from __future__ import annotations

from typing import Final, Literal

from ....runtime.process import classes
from ... import (
    BYTES,
    CPU_TARGET,
    FLAG,
    CpuTarget,
    Patches,
    numbers,
    one_of,
    option,
    optional,
    whole,
)
from ..options import CodegenOptions
from ..pass_list import LOOP_PASSES, PassName, Rules, without

CPU_PASSES: Final = (
    "tile", "stream", "march", "prefetch", "unswitch", "slide", "patch", "plan_arena",
)  # fmt: skip
MACHINES: Final = ("epyc", "xeon")  # as in `plan/machine.py`
MOST_EFFORT: Final = 2
MOST_TILE: Final = 1 << 16  # points; a thread has room for the levels of each

PATCHES: Final = numbers(
    Patches,
    ("elements", "portion", "least_bytes"),
    fits=lambda patches: not patches.elements or patches.portion <= patches.elements,
    or_false=True,
    hints=("At most a whole patch is computed at a time.",),
)


@classes.frozen
class CpuOptions(CodegenOptions):
    """The options of `Codegen`, which its passes read.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread. The default is the
            number that `fieldforge doctor --machine` measured on the node of the call, or 8192.
        tile_size: the points of a tile along the dimension that tiles divide; 0 lets the size of
            the cache decide.
        stream_from: calls that touch this many bytes prefetch rows, and write outputs that they do
            not read with non-temporal stores; 0 never writes so. The default is the measured
            number, else 12 MiB, or 1.5 MiB for each thread if that is more.
        many_outputs: whether outputs on several boxes share tiles, and scans hold only what the
            next level reads; adjoints have it.
        jam: whether unroll-and-jam may compute several rows of a stencil together.
        prefetch: whether the code prefetches rows.
        unswitch: whether usual levels have a loop without the conditions of other levels.
        effort: how long to search for better choices than those of the rules, by predicted seconds:
            0 takes the rules' choices, 1 turns values into arrays that the rules compute again, in
            up to 8 plans, 2 changes all decisions in up to 400.
        machine: the class of CPUs that a search predicts for; by default all weigh the same.
        passes: the passes over loops in order: names of built-in passes, or functions.
        patches: sizes for nests that hand arrays on within patches of a mesh, such as
            `Patches(elements=6144, portion=128, least_bytes=16 << 20)`; with False the nests run
            one by one.

    """

    target: CpuTarget = option(CPU_TARGET, factory=CpuTarget.host)
    parallel_from: int | None = option(
        optional(whole(0, BYTES)), None, tune=[0, 2048, 8192, 1 << 15]
    )
    tile_size: int = option(whole(0, MOST_TILE), 0, tune=[0, 8, 16, 32, 64, 128, 256])
    stream_from: int | None = option(optional(whole(0, BYTES)), None, tune=[0, 1 << 20, 12 << 20])
    many_outputs: bool = option(FLAG, False)
    jam: bool = option(FLAG, True, tune=[True, False])
    prefetch: bool = option(FLAG, True, tune=[True, False])
    unswitch: bool = option(FLAG, True, tune=[True, False])
    patches: Patches | Literal[False] = option(
        PATCHES,
        Patches(),
        tune=[Patches(), False, Patches(elements=2048), Patches(elements=24576)],
    )
    effort: int = option(whole(0, MOST_EFFORT), 1)
    machine: str | None = option(optional(one_of(MACHINES)), None)
    passes: tuple[PassName, ...] = option(
        LOOP_PASSES,
        CPU_PASSES,
        tune=[CPU_PASSES, *(without(CPU_PASSES, name) for name in ("tile", "march", "slide"))],
    )

    def rules(self) -> Rules:
        """Return what the schedule and the loop passes have to know."""
        return Rules(
            self.target, self.arrays, self.inline, jam=self.jam, checked=self.checked,
            many_outputs=self.many_outputs, own=self,
        )  # fmt: skip


_DEFAULT: Final = CpuOptions(CpuTarget())


def options_of(rules: Rules) -> CpuOptions:
    """Return the options of a CPU, their defaults where the rules have none."""
    return rules.own if isinstance(rules.own, CpuOptions) else _DEFAULT
