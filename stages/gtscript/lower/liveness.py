"""Liveness: which variables the blocks after a block may still read."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ...ir.stencil import Block, Node, Stencil
from ..reads import reads_below
from .bounds import is_whole


def live_after(root: Stencil) -> list[frozenset[int]]:
    """Return for each block the variables whose values after it later blocks may read."""
    found: list[frozenset[int]] = [frozenset()]
    for block in root.blocks[:0:-1]:
        found.append(live_before(root.nodes, block, found[-1]))
    return found[::-1]


def live_before(nodes: Sequence[Node], block: Block, live: Set[int]) -> frozenset[int]:
    """Return the variables that a block may read, and those of `live` that it may leave."""
    needed: set[int] = set()
    assigned: set[int] = set()
    for each in block.body:
        for read in reads_below(nodes, each.roots):
            if read.offset[2] or read.level is not None or read.variable not in assigned:
                needed.add(read.variable)
        if each.mask is None and each.region is None and not each.moves:
            assigned.add(each.variable)
        elif each.variable not in assigned:
            needed.add(each.variable)
    return frozenset(needed | (live - (assigned if is_whole(block) else set())))
