"""Make the loops of a program: a first schedule, then passes until all memory is placed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ...runtime.process import OptionError
from ..artifacts import Lowered, Variant
from ..ir.loops import Kernel
from ..ir.loops.verify import verify
from .pass_list import LoopPass, Rules, name_of
from .schedule.drafts import StoreGroup
from .schedule.schedule import Scheduled, schedule

Watch: TypeAlias = Callable[[str, Kernel], None]


def make_loops(
    lowered: Lowered,
    variant: Variant,
    rules: Rules,
    passes: Iterable[LoopPass],
    watch: Watch = lambda *_: None,
    scheduled: Scheduled | None = None,
) -> tuple[Kernel, tuple[StoreGroup, ...]]:
    """Schedule a program, apply `passes` in order, and verify the kernel.

    `scheduled` may know schedules of it. `watch` sees the kernel after each step, under the name of
    the step; the first is `schedule`. Where a step fails, or the result breaks a rule, the error
    names the first kernel that breaks one.
    """
    kernel, groups = scheduled(rules) if scheduled else schedule(lowered, variant, rules)
    kernels = [kernel]
    try:
        watch("schedule", kernel)
        for step in passes:
            kernels.append(_applied(step, kernels[-1], rules))
            watch(name_of(step), kernels[-1])
        kernel = verify(kernels[-1])
    except Exception:
        for kernel in kernels:
            verify(kernel)
        raise
    return _placed(kernel), groups


def listings(
    lowered: Lowered, variant: Variant, rules: Rules, passes: Iterable[LoopPass]
) -> dict[str, str]:
    """Return the text of the loops after each step, by its name."""
    from ..ir.loops.text import show

    texts: dict[str, str] = {}

    def keep(name: str, kernel: Kernel) -> None:
        texts[name] = show(kernel)

    make_loops(lowered, variant, rules, passes, keep)
    return texts


def _applied(step: LoopPass, kernel: Kernel, rules: Rules) -> Kernel:
    result = step(kernel, rules)
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
