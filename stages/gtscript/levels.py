"""Levels: how far along K fields are read, and the least number of levels of a domain."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..ir.stencil import Block, Node, Read, Ref

NO_OWNERS: Final[Mapping[int, int]] = MappingProxyType({})


def boundaries_of(
    nodes: Sequence[Node],
    blocks: Sequence[Block],
    without: Container[Ref] = (),
    owners: Mapping[int, int] = NO_OWNERS,
) -> dict[int, tuple[int, int]]:
    """Return for each variable how many levels below the domain and above it are accessed.

    Only bounds that count from the near end of the domain count, and no read at a level that a
    value gives, nor those that give it. `without` are rows below which no reads count.
    Variables count as their owners: elements as the first one of their field.
    """
    below: dict[int, int] = {}
    above: dict[int, int] = {}
    for block in blocks:
        for accessed, k in _accesses(nodes, block, without):
            variable = owners.get(accessed, accessed)
            if not block.start.of_end:
                lowest = -block.start.offset - k
                below[variable] = max(below.get(variable, lowest), lowest)
            if block.stop.of_end:
                highest = block.stop.offset + k
                above[variable] = max(above.get(variable, highest), highest)
    return {each: (below.get(each, 0), above.get(each, 0)) for each in {**below, **above}}


def least_levels(blocks: Sequence[Block]) -> int:
    """Return the least number of levels on which no interval is empty."""
    of_start = of_end = longest = 0
    for block in blocks:
        start, stop = block.start, block.stop
        if not start.of_end and stop.of_end:
            if start.offset or stop.offset:
                longest = max(longest, start.offset - stop.offset + 1)
        elif not start.of_end:
            of_start = max(of_start, stop.offset)
        else:
            of_end = max(of_end, -start.offset)
    return max(of_start + of_end, longest)


def _accesses(
    nodes: Sequence[Node], block: Block, without: Container[Ref]
) -> list[tuple[int, int]]:
    roots = [ref for each in block.body for ref in (each.value, each.mask)]  # no `level`
    reads = reads_below(nodes, roots, places=False, without=without)
    found = [(read.variable, read.offset[2]) for read in reads if read.level is None]
    written = [(each.variable, each.offset) for each in block.body if each.level is None]
    return [*found, *written]


def reads_below(
    nodes: Sequence[Node],
    roots: Iterable[Ref | None],
    places: bool = True,
    without: Container[Ref] = (),
) -> list[Read]:
    """Return the reads in some expressions, each once, in the order of the text.

    Without `places`, those that only say where others read are left out; `without` are rows below
    which no reads count.
    """
    found: list[Read] = []
    seen: set[Ref] = set()
    stack = [root for root in reversed(list(roots)) if root is not None]
    while stack:
        ref = stack.pop()
        if ref in seen or ref in without:
            continue
        seen.add(ref)
        node = nodes[ref]
        if isinstance(node, Read):
            found.append(node)
            if not places:
                continue
        stack += reversed(node.operands)
    return found
