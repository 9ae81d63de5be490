"""Loops of an SDFG in sequence: over levels inside a nest, or over planes around states."""

from __future__ import annotations

from typing import Any


def loop_region(label: str, index: str, start: Any, stop: Any, *, backward: bool) -> Any:
    """Return a loop that runs for one index after the other; its blocks are added to it."""
    from dace.sdfg.state import LoopRegion

    if backward:
        ends = (f"{index} >= {start}", f"{index} = {stop - 1}", f"{index} = {index} - 1")
    else:
        ends = (f"{index} < {stop}", f"{index} = {start}", f"{index} = {index} + 1")
    return LoopRegion(label, ends[0], index, ends[1], ends[2])
