"""The passes over loops in their order: from a first schedule to one with all memory placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from ...runtime.process.errors import OptionError
from ..artifacts import Lowered, Variant
from ..ir.loops.kernel import Kernel
from ..ir.loops.text import show
from ..ir.loops.verify import verify
from .arena import plan_arena
from .cpu.passes.marching import march
from .cpu.passes.prefetching import prefetch
from .cpu.passes.sliding import slide
from .cpu.passes.streaming import stream
from .cpu.passes.tiling import tile
from .cpu.passes.unswitching import unswitch
from .gpu.passes.fusing import fuse
from .gpu.passes.handing_on import hand_on
from .gpu.passes.loading_ahead import load_ahead
from .gpu.passes.patching import patch
from .gpu.passes.reciprocals import share_reciprocals
from .gpu.passes.sharing_in_patches import share_in_patches
from .gpu.passes.spreading import spread
from .gpu.passes.widening import widen
from .pass_list import PassName, name_of
from .schedule.drafts import Group
from .schedule.rules import Rules
from .schedule.schedule import schedule

LoopPass: TypeAlias = Callable[[Kernel, Rules], Kernel]
Watch: TypeAlias = Callable[[str, Kernel], None]

# Without an order: `pass_list.py` has that of each platform.
BY_NAME: Final[Mapping[str, LoopPass]] = {
    step.__name__: step
    for step in (
        fuse, hand_on, load_ahead, march, patch, plan_arena, prefetch, share_in_patches,
        share_reciprocals, slide, spread, stream, tile, unswitch, widen,
    )
}  # fmt: skip


def ignore(name: str, kernel: Kernel) -> None:
    """Watch nothing."""


def make_loops(
    lowered: Lowered,
    variant: Variant,
    rules: Rules,
    passes: Iterable[PassName],
    watch: Watch = ignore,
) -> tuple[Kernel, tuple[Group, ...]]:
    """Schedule a program and apply `passes` in order; every step leaves a valid kernel.

    `watch` sees the kernel after each step, under the name of the step; the first is `schedule`.
    """
    kernel, groups = schedule(lowered, variant, rules)
    watch("schedule", verify(kernel))
    for step in passes:
        kernel = verify(_applied(step, kernel, rules))
        watch(name_of(step), kernel)
    return _placed(kernel), groups


def listings(
    lowered: Lowered, variant: Variant, rules: Rules, passes: Iterable[PassName]
) -> dict[str, str]:
    """Return the text of the loops after each step, by its name."""
    texts: dict[str, str] = {}

    def keep(name: str, kernel: Kernel) -> None:
        texts[name] = show(kernel)

    make_loops(lowered, variant, rules, passes, keep)
    return texts


def _applied(step: PassName, kernel: Kernel, rules: Rules) -> Kernel:
    result: Any = (BY_NAME[step] if isinstance(step, str) else step)(kernel, rules)
    if not isinstance(result, Kernel):
        raise OptionError(
            f"Loop pass '{name_of(step)}' returned a '{type(result).__name__}', "
            "expected a 'Kernel'."
        )
    return result


def _placed(kernel: Kernel) -> Kernel:
    """Refuse a kernel whose arrays have no memory."""
    for buffer in kernel.buffers:
        if buffer.memory in ("arena", "tile") and buffer.slot < 0:
            raise OptionError(
                f"The loop passes give array '{buffer.name}' no memory.",
                hints=("Let 'plan_arena' run last.",),
            )
    return kernel
