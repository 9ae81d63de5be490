"""The nests of a program for GPUs: a thread for each point, or for each column of a scan."""

from __future__ import annotations

import math
from typing import Final

import attrs

from ...ir.loops.nest import Nest

# Threads of a block along x, y and z by the number of loops.
_OF_POINTS: Final = ((256,), (32, 8), (32, 8, 1))
# A thread of a scan keeps many numbers; small blocks let all multiprocessors share few columns.
_OF_COLUMNS: Final = ((64,), (32, 2), (32, 2, 1))
ONE_THREAD: Final = (1, 1, 1)


@attrs.frozen
class Grid:
    """How the maps of an SDFG run on a GPU; empty or 0 leaves the choice to us.

    Attributes:
        one, two, three: threads of a block along x, y and z for maps of one, two and of more
            dimensions.
        columns: the same for scans, for any number of dimensions.
        threads: the number of threads that the compiler makes registers for; '0' asks for none.
        factor: the same as a multiple of the threads of a block.
        registers: the most registers of a thread.

    """

    one: tuple[int, ...] = ()
    two: tuple[int, ...] = ()
    three: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    threads: str = ""
    factor: int = 0
    registers: int = 0

    def block(self, loops: int, *, is_scan: bool) -> tuple[int, int, int]:
        """Return the threads of a block for a map over so many loops.

        >>> Grid(two=(64, 4)).block(2, is_scan=False), Grid().block(3, is_scan=True)
        ((64, 4, 1), (32, 2, 1))
        """
        place = min(loops, 3) - 1
        if is_scan:
            chosen = self.columns[: place + 1] or _OF_COLUMNS[place]
        else:
            chosen = (self.one, self.two, self.three)[place] or _OF_POINTS[place]
        x, y, z = (*chosen, 1, 1, 1)[:3]
        return x, y, z

    def bounds(self, block: tuple[int, int, int]) -> str:
        """Return the number of threads that the compiler makes registers for; '' is its default.

        >>> Grid(factor=2).bounds((32, 8, 1)), Grid(threads="0").bounds((32, 8, 1))
        ('512', '0')
        """
        return str(self.factor * math.prod(block)) if self.factor else self.threads


def free_loops(nest: Nest) -> int:
    """Return how many loops may run in any order: all but the one over the levels of a scan."""
    return len(nest.loops) - bool(nest.states)


def on_threads(nest: Nest) -> Nest:
    """Return a nest whose free loops all stand around the whole body."""
    free = free_loops(nest)
    loops = tuple(
        attrs.evolve(loop, kind="thread" if level < free else "sequential")
        for level, loop in enumerate(nest.loops)
    )
    body = tuple(attrs.evolve(row, level=free) if row.level < free else row for row in nest.body)
    return attrs.evolve(nest, loops=loops, body=body)


def shared_by_parts(nest: Nest) -> frozenset[int]:
    """Return the instructions that stand outside the innermost loop, and so serve all its parts."""
    if nest.states or not nest.parts:
        return frozenset()
    return frozenset(i for i, row in enumerate(nest.body) if row.level < len(nest.loops))
