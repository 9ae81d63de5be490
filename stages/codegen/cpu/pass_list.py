"""The passes over loops for a CPU as functions; `options.py` has their names in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ..pass_list import PLAN_ONLY, LoopPass, PassName, functions_of

PLAIN_PASSES: Final = ("plain_loops", *PLAN_ONLY)  # of code that compiles fast


def cpu_passes(passes: Iterable[PassName]) -> tuple[LoopPass, ...]:
    """Return the functions of passes; a warm start reads names, and imports none of them."""
    from ..arena import plan_arena
    from .passes.marching import march
    from .passes.plain_loops import plain_loops
    from .passes.portions import patch
    from .passes.prefetching import prefetch
    from .passes.sliding import slide
    from .passes.streaming import stream
    from .passes.tiling import tile
    from .passes.unswitching import unswitch

    ours = (tile, stream, march, prefetch, unswitch, slide, patch, plain_loops, plan_arena)
    return functions_of(passes, ours)
