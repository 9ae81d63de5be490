"""The passes over loops for a GPU as functions; `options.py` has their names in order."""

from __future__ import annotations

from collections.abc import Iterable

from ..pass_list import LoopPass, PassName, functions_of


def gpu_passes(passes: Iterable[PassName]) -> tuple[LoopPass, ...]:
    """Return the functions of passes; a warm start reads names, and imports none of them."""
    from ..arena import plan_arena
    from .passes.fusing import fuse
    from .passes.handing_on import hand_on
    from .passes.loading_ahead import load_ahead
    from .passes.patching import patch
    from .passes.reciprocals import share_reciprocals
    from .passes.sharing_in_patches import share_in_patches
    from .passes.thread_blocks import spread
    from .passes.unswitching import unswitch
    from .passes.widening import widen

    ours = (
        fuse, spread, unswitch, widen, share_reciprocals, patch, share_in_patches, load_ahead,
        hand_on, plan_arena,
    )  # fmt: skip
    return functions_of(passes, ours)
