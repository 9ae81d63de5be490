"""The passes over loops for a CPU as functions; `options.py` has their names in order."""

from __future__ import annotations

from collections.abc import Iterable

from ..pass_list import LoopPass, PassName, functions_of


def cpu_passes(passes: Iterable[PassName]) -> tuple[LoopPass, ...]:
    """Return the functions of passes; a warm start reads names, and imports none of them."""
    from ..arena import plan_arena
    from .passes.marching import march
    from .passes.portions import patch
    from .passes.prefetching import prefetch
    from .passes.sliding import slide
    from .passes.streaming import stream
    from .passes.tiling import tile
    from .passes.unswitching import unswitch

    ours = (tile, stream, march, prefetch, unswitch, slide, patch, plan_arena)
    return functions_of(passes, ours)
