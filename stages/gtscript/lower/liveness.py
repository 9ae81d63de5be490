"""Liveness: which variables the blocks after a block may still read."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.stencil import Block, Node, Stencil
from ..reads import reads_below
from .bounds import is_whole


def live_after(root: Stencil) -> list[frozenset[int]]:
    """Return for each block the variables whose values after it later blocks may read."""
    live: frozenset[int] = frozenset()
    found: list[frozenset[int]] = []
    for block in reversed(root.blocks):
        found.append(live)
        needed, assigned = _needed(root.nodes, block)
        live = frozenset(needed | (live - (assigned if is_whole(block) else set())))
    return found[::-1]


def _needed(nodes: Sequence[Node], block: Block) -> tuple[set[int], set[int]]:
    """Return the variables whose values before a block it may read, and those that it sets."""
    needed: set[int] = set()
    assigned: set[int] = set()
    for each in block.body:
        for read in reads_below(nodes, (each.value, each.mask)):
            if read.offset[2] or read.variable not in assigned:
                needed.add(read.variable)
        if each.mask is None and each.region is None:
            assigned.add(each.variable)
        elif each.variable not in assigned:
            needed.add(each.variable)
    return needed, assigned
