"""Run a pass that changes lists of nests on a tree, until it changes trees itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeAlias

from ..ir import flat_kernel
from ..ir.loops.flat import flat
from ..ir.loops.kernel import Kernel
from ..ir.loops.lift import lift
from .schedule.rules import Rules

LoopPass: TypeAlias = Callable[[Kernel, Rules], Kernel]
ListPass: TypeAlias = Callable[[flat_kernel.Kernel, Rules], flat_kernel.Kernel]


def on_lists(step: ListPass) -> LoopPass:
    """Return a pass over trees that does what a pass over lists does."""

    @wraps(step)
    def on_tree(kernel: Kernel, rules: Rules) -> Kernel:
        lists = flat(kernel)
        made = step(lists, rules)
        return kernel if made is lists else lift(made)

    return on_tree
